package dev.jetsql.common;

import org.apache.spark.sql.catalyst.trees.Origin;
import scala.Option;

/** Places in the texts of statements, as Spark's nodes and errors have them. */
public final class Origins {
  private Origins() {}

  /**
   * Returns a place in a text that is not known.
   *
   * @param line from 1
   * @param column from 0
   */
  public static Origin at(int line, int column) {
    return new Origin(
        Option.apply(line),
        Option.apply(column),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty());
  }

  /** Returns a node's origin with another place, see `at`. */
  public static Origin moved(Origin origin, int line, int column) {
    return new Origin(
        Option.apply(line),
        Option.apply(column),
        origin.startIndex(),
        origin.stopIndex(),
        origin.sqlText(),
        origin.objectType(),
        origin.objectName(),
        origin.stackTrace(),
        origin.pysparkErrorContext(),
        origin.positionMapper());
  }
}
