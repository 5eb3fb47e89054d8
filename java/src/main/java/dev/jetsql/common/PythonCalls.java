package dev.jetsql.common;

import java.util.concurrent.Callable;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Calls of the engine's Python functions, on pooled threads that never end.
 *
 * <p>Py4J keeps a connection for every thread that ever called Python, and Spark's endpoints run
 * each statement on a new thread. With the pool, the number of connections is the highest number of
 * parallel calls. The caller waits for a future and not for a socket, so that it receives the
 * interrupt with which Spark cancels a statement.
 */
public final class PythonCalls {
  private static final ThreadPoolExecutor threads =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          Long.MAX_VALUE,
          TimeUnit.NANOSECONDS,
          new SynchronousQueue<>(),
          PythonCalls::createThread);

  private PythonCalls() {}

  /**
   * Runs a call and returns its result.
   *
   * @param cancel cancels the call when this thread is interrupted; null for a call that cannot be
   *     cancelled, after which the interrupt takes effect
   */
  static Object await(Callable<Object> call, Runnable cancel) {
    return UninterruptedCalls.await(
        threads.submit(call), cancel == null ? null : () -> threads.execute(cancel));
  }

  /** Runs work that calls Python on a thread of the pool, without waiting for it. */
  public static void later(Runnable work) {
    threads.execute(work);
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
