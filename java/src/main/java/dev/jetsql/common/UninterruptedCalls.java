package dev.jetsql.common;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Waits for calls on other threads that an interrupt of the caller must not end. */
public final class UninterruptedCalls {
  private static final long CANCEL_AGAIN_MILLIS = 100;

  private UninterruptedCalls() {}

  /** Returns the result of a call, or throws its error. An interrupt takes effect after it. */
  public static <T> T await(Future<T> result) {
    return await(result, null);
  }

  /** Does the same. From an interrupt on, `cancel` is called until the call has ended. */
  static <T> T await(Future<T> result, Runnable cancel) {
    var interrupted = false;
    try {
      while (true) {
        try {
          if (!interrupted || cancel == null) return result.get();
          cancel.run();
          return result.get(CANCEL_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        } catch (TimeoutException e) {
          // The call may have begun after the cancellation: cancel it again.
        }
      }
    } catch (ExecutionException e) {
      throw Exceptions.raise(e.getCause());
    } finally {
      if (interrupted) Thread.currentThread().interrupt();
    }
  }
}
