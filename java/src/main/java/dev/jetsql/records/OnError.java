package dev.jetsql.records;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.raise_error;
import static org.apache.spark.sql.functions.when;

import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;

/** The option `on.error` of a table: what happens to rows of its source that do not fit. */
public final class OnError {
  public static final String OPTION = "on.error";

  /** The option of a source in a plan that has the value that applies. */
  public static final String APPLIED = "jetsql.on.error";

  /** The column that has the values of a row as a struct. */
  public static final String ROW = "__row";

  /** The values that a query can choose; the option of a table can also be `table:NAME`. */
  public static final List<String> OF_QUERY = List.of("fail", "null", "skip");

  public static final List<String> OF_TABLE = List.of("fail", "null", "skip", "table:NAME");

  public static final String FAIL = "fail";
  private static final String TABLE = "table:";

  private OnError() {}

  /** Returns whether a value is one of `OF_TABLE`. */
  public static boolean isValid(String value) {
    String lower = value.toLowerCase(Locale.ROOT);
    return OF_QUERY.contains(lower) || (isTable(value) && value.length() > TABLE.length());
  }

  /** Returns whether rows that do not fit go to a dead-letter table. */
  public static boolean isTable(String value) {
    return value != null && value.toLowerCase(Locale.ROOT).startsWith(TABLE);
  }

  /**
   * Applies the option to rows. The column `ROW` must be made by a generator: Spark moves the
   * conditions of a query before a filter, but not before a generator.
   *
   * @param broken whether a row does not fit
   * @param message the error for a row that does not fit
   */
  public static Dataset<Row> apply(Dataset<Row> rows, String value, Column broken, Column message) {
    String lower = value.toLowerCase(Locale.ROOT);
    if (lower.equals("skip") || isTable(value)) return rows.filter(not(broken));
    if (lower.equals("null")) return rows.withColumn(ROW, when(not(broken), col(ROW)));
    Column error = raise_error(message);
    return rows.filter(when(broken, error.cast(DataTypes.BooleanType)).otherwise(true));
  }
}
