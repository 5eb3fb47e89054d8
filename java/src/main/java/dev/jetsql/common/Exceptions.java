package dev.jetsql.common;

import org.apache.spark.unsafe.Platform;

/** Throws checked exceptions where Spark's interfaces declare none. */
public final class Exceptions {
  private Exceptions() {}

  /** Throw anything; declared to return so that the compiler sees an end. */
  public static RuntimeException raise(Throwable error) {
    Platform.throwException(error);
    return new IllegalStateException(error);
  }
}
