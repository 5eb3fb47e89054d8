package dev.jetsql.jdbc;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin$;
import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * The database of an error and the place in the statement of the table that needed it. It is
 * suppressed by the error: drivers' messages name neither, and Spark reads the error itself.
 */
public final class FailedDatabase extends Exception {
  private static final long serialVersionUID = 1L;

  private final String url;
  private final int line;
  private final int column;

  private FailedDatabase(String url, Origin origin) {
    super(null, null, false, false);
    this.url = url;
    var hasPlace = origin.line().isDefined() && origin.startPosition().isDefined();
    line = hasPlace ? (int) origin.line().get() : 0;
    column = hasPlace ? (int) origin.startPosition().get() + 1 : 0;
  }

  /** Adds the database to an error, unless it has one. */
  static <T extends Throwable> T in(T error, String url) {
    if (Arrays.stream(error.getSuppressed()).noneMatch(FailedDatabase.class::isInstance))
      error.addSuppressed(new FailedDatabase(url, CurrentOrigin$.MODULE$.get()));
    return error;
  }

  /** Returns the JDBC URL, which may contain secrets. */
  public String url() {
    return url;
  }

  /** Returns the line of the table in the statement, counted from 1; 0 outside of a statement. */
  public int line() {
    return line;
  }

  /** Returns the column of the table in the statement, counted from 1. */
  public int column() {
    return column;
  }
}
