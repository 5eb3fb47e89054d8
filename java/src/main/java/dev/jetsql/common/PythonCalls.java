package dev.jetsql.common;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/**
 * Calls of the engine's functions (Python), on threads of their own that never end.
 *
 * <p>Py4J keeps a connection for good for every thread that ever called Python, and Spark's
 * endpoints run each statement on a new thread. Made here, there are as many connections as there
 * were calls at one time. It also lets an interrupt, by which Spark cancels a statement, reach the
 * caller, where it would not reach a socket.
 */
public final class PythonCalls {
  private static final long CANCEL_AGAIN_MILLIS = 100;
  private static final AtomicLong numbers = new AtomicLong();
  private static final ThreadPoolExecutor threads =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          Long.MAX_VALUE,
          TimeUnit.NANOSECONDS,
          new SynchronousQueue<>(),
          PythonCalls::thread);
  private static volatile Consumer<String> cancel;

  private PythonCalls() {}

  /** Set the function that cancels the statement of a number; null: none. */
  public static void connect(Consumer<String> cancelStatement) {
    cancel = cancelStatement;
  }

  /** Call a function; an interrupt waits until it has returned. */
  public static Object ask(
      BiFunction<Object, String, Object> function, Object session, String text) {
    return await(threads.submit(() -> function.apply(session, text)), null);
  }

  /**
   * Call a function that can be cancelled: it is given a number and a blank in front of the text.
   */
  public static Object run(
      BiFunction<Object, String, Object> function, Object session, String text) {
    var number = Long.toString(numbers.incrementAndGet());
    Callable<Object> call = () -> function.apply(session, number + " " + text);
    return await(threads.submit(call), number);
  }

  /** Do something that calls Python, apart from the thread that asks for it. */
  public static void later(Runnable work) {
    threads.execute(work);
  }

  private static Object await(Future<Object> response, String number) {
    var interrupted = false;
    try {
      while (true) {
        try {
          if (!interrupted || number == null) return response.get();
          threads.execute(() -> cancel(number));
          return response.get(CANCEL_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (TimeoutException e) {
          // The engine may not know the statement yet: cancel it again.
        }
      }
    } catch (ExecutionException e) {
      throw Exceptions.raise(e.getCause());
    } finally {
      if (interrupted) Thread.currentThread().interrupt();
    }
  }

  private static void cancel(String number) {
    var engine = cancel;
    if (engine != null) engine.accept(number);
  }

  /**
   * Threads inherit nothing from those that happen to need them first: no settings of Spark's, no
   * session's classes.
   */
  private static Thread thread(Runnable work) {
    var thread = new Thread(null, work, "jetsql-call", 0, false);
    thread.setDaemon(true);
    thread.setContextClassLoader(PythonCalls.class.getClassLoader());
    return thread;
  }
}
