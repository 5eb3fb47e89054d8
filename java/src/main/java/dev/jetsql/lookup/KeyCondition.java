package dev.jetsql.lookup;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.jdbc.JdbcDialect;
import org.apache.spark.sql.jdbc.JdbcDialects;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Writes conditions that select the rows with some keys. */
final class KeyCondition {
  private static final int KEYS = 1000;
  private static final int KEYS_OF_COLUMNS = 200;

  private final JdbcDialect dialect;
  private final List<String> columns;
  private final List<DataType> types;

  KeyCondition(LookupPlan lookup) {
    dialect = JdbcDialects.get(lookup.url());
    columns = lookup.columns().stream().map(dialect::quoteIdentifier).toList();
    types = lookup.types();
  }

  /** Returns how many keys a condition may have. */
  int limit() {
    return columns.size() == 1 ? KEYS : KEYS_OF_COLUMNS;
  }

  /**
   * Returns the condition for rows with one of the keys; for one column an IN list. Returns null,
   * which selects all rows, for a character that no statement may contain.
   */
  String select(List<UnsafeRow> keys) {
    var condition = condition(keys);
    return condition.indexOf(0) < 0 ? condition : null;
  }

  private String condition(List<UnsafeRow> keys) {
    if (columns.size() > 1) return join(keys, " OR ", this::equal);
    return columns.get(0) + " IN (" + join(keys, ", ", key -> literal(key, 0)) + ")";
  }

  private static String join(
      List<UnsafeRow> keys, String separator, java.util.function.Function<UnsafeRow, String> text) {
    return keys.stream().map(text).collect(Collectors.joining(separator));
  }

  private String equal(UnsafeRow key) {
    var parts = new ArrayList<String>();
    for (int i = 0; i < columns.size(); i++) parts.add(columns.get(i) + " = " + literal(key, i));
    return "(" + String.join(" AND ", parts) + ")";
  }

  private String literal(UnsafeRow key, int index) {
    var type = types.get(index);
    var value =
        type.equals(DataTypes.DateType) // `java.sql.Date` does not have all days
            ? LocalDate.ofEpochDay(key.getInt(index))
            : CatalystTypeConverters.convertToScala(key.get(index, type), type);
    return String.valueOf(dialect.compileValue(value));
  }
}
