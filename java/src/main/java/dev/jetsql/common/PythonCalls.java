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
 * Calls of the engine's Python functions, on pooled threads that never end.
 *
 * <p>The text of a call begins with the origin of the statement, see `Callers`, and a blank.
 *
 * <p>Py4J keeps a connection for every thread that ever called Python, and Spark's endpoints run
 * each statement on a new thread. With the pool, the number of connections is the highest number of
 * parallel calls. The caller waits for a future and not for a socket, so that it receives the
 * interrupt with which Spark cancels a statement.
 */
public final class PythonCalls {
  private static final long CANCEL_AGAIN_MILLIS = 100;
  private static final AtomicLong lastNumber = new AtomicLong();
  private static final ThreadPoolExecutor threads =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          Long.MAX_VALUE,
          TimeUnit.NANOSECONDS,
          new SynchronousQueue<>(),
          PythonCalls::createThread);
  private static volatile Consumer<String> cancel;

  private PythonCalls() {}

  /** Sets the function that cancels the statement with a given number; null removes it. */
  public static void connect(Consumer<String> cancelStatement) {
    cancel = cancelStatement;
  }

  /** Calls a function that cannot be cancelled. An interrupt takes effect after it has returned. */
  public static Object ask(
      BiFunction<Object, String, Object> function, Object session, String text) {
    var origin = Callers.origin(session);
    return await(threads.submit(() -> function.apply(session, origin + " " + text)), null);
  }

  /**
   * Calls a function that can be cancelled. Its text begins with the number of the statement and a
   * blank.
   */
  public static Object run(
      BiFunction<Object, String, Object> function, Object session, String text) {
    var number = Long.toString(lastNumber.incrementAndGet());
    var origin = Callers.origin(session);
    Callable<Object> call = () -> function.apply(session, number + " " + origin + " " + text);
    return await(threads.submit(call), number);
  }

  /** Runs work that calls Python on a thread of the pool, without waiting for it. */
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
    var function = cancel;
    if (function != null) function.accept(number);
  }

  /**
   * Creates a thread that inherits nothing from the caller: neither Spark's local properties nor
   * the class loader of a session.
   */
  private static Thread createThread(Runnable work) {
    var thread = new Thread(null, work, "jetsql-call", 0, false);
    thread.setDaemon(true);
    thread.setContextClassLoader(PythonCalls.class.getClassLoader());
    return thread;
  }
}
