package dev.jetsql.common;

import java.util.function.Supplier;
import org.apache.spark.sql.SparkSession;

/** The session from which Spark, and its catalogs, read their settings on this thread. */
public final class ActiveSession {
  private ActiveSession() {}

  /** Runs a function with a session as the active one. */
  public static <T> T call(SparkSession session, Supplier<T> function) {
    var active = SparkSession.getActiveSession();
    SparkSession.setActiveSession(session);
    try {
      return function.get();
    } finally {
      if (active.isDefined()) SparkSession.setActiveSession(active.get());
      else SparkSession.clearActiveSession();
    }
  }
}
