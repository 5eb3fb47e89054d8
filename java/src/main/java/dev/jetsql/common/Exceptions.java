package dev.jetsql.common;

import org.apache.spark.unsafe.Platform;

/** Throws checked exceptions where Spark's interfaces declare none. */
public final class Exceptions {
  private Exceptions() {}

  /**
   * Throws any error. The declared return type lets a caller write `throw raise(error)`, so that
   * the compiler knows that the method ends there.
   */
  public static RuntimeException raise(Throwable error) {
    Platform.throwException(error);
    return new IllegalStateException(error);
  }
}
