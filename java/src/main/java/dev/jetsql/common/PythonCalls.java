package dev.jetsql.common;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/**
 * The way to the engine's functions (Python), on threads of its own that never end.
 *
 * Py4J keeps a connection for good for every thread that ever called Python, and Spark's doors run each statement on a
 * new thread. Made here, there are as many connections as there were calls at one time. It also lets an interrupt, by
 * which Spark cancels a statement, reach who waits, where it would not reach a socket.
 */
public class PythonCalls {
  private static final long TELL_AGAIN_MILLIS = 100;
  private static final AtomicLong numbers = new AtomicLong();
  private static final ThreadPoolExecutor threads = new ThreadPoolExecutor(
      0, Integer.MAX_VALUE, Long.MAX_VALUE, TimeUnit.NANOSECONDS, new SynchronousQueue(), new Threads());
  private static volatile Consumer cancel;

  public static void connect(Consumer cancelStatement) { cancel = cancelStatement; }

  /** Ask a function; an interrupt waits until it has answered. */
  public static Object ask(BiFunction function, Object session, String text) {
    return await(threads.submit(new Call(function, session, text)), null);
  }

  /** Ask a function that can be cancelled: it is told a number and a blank in front of the text. */
  public static Object run(BiFunction function, Object session, String text) {
    String number = Long.toString(numbers.incrementAndGet());
    return await(threads.submit(new Call(function, session, number + " " + text)), number);
  }

  /** Do something that calls Python, apart from who asks for it. */
  public static void later(Runnable work) { threads.execute(work); }

  private static Object await(Future answer, String number) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          if (!interrupted || number == null) return answer.get();
          threads.execute(new Cancel(number));
          return answer.get(TELL_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (TimeoutException e) {
          // It may not have heard of the statement yet.
        }
      }
    } catch (ExecutionException e) {
      throw Exceptions.raise(e.getCause());
    } finally {
      if (interrupted) Thread.currentThread().interrupt();
    }
  }

  static class Call implements Callable {
    private final BiFunction function;
    private final Object session;
    private final String text;

    Call(BiFunction function, Object session, String text) {
      this.function = function;
      this.session = session;
      this.text = text;
    }

    public Object call() { return function.apply(session, text); }
  }

  static class Cancel implements Runnable {
    private final String number;

    Cancel(String number) { this.number = number; }

    public void run() {
      Consumer engine = cancel;
      if (engine != null) engine.accept(number);
    }
  }

  /** Threads take nothing over from those that happen to need them first: no settings of Spark's, no session's classes. */
  static class Threads implements ThreadFactory {
    public Thread newThread(Runnable work) {
      Thread thread = new Thread(null, work, "jetsql-call", 0, false);
      thread.setDaemon(true);
      thread.setContextClassLoader(PythonCalls.class.getClassLoader());
      return thread;
    }
  }
}
