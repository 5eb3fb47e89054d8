package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.when;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * Encodes the rows of a Kafka table as messages, with the columns that the connector's writer
 * expects.
 */
final class MessageEncoder {
  private static final String[] FIELDS = {"key", "value", "headers", "topic", "partition"};
  private static final String DELETED = "__jetsql_deleted";

  private final KafkaTable table;

  MessageEncoder(KafkaTable table) {
    this.table = table;
  }

  /**
   * Returns rows as messages.
   *
   * @param rows the rows, of AUTO CDC with a last column that marks the deletions
   * @param deletes whether rows are updated and deleted by key. A deletion is a marked row, or
   *     without marks a row whose columns are all NULL except the key's. It becomes a message
   *     without a value, which deletes the key from a compacted topic, or Debezium's change.
   */
  Dataset<Row> messages(Dataset<Row> rows, boolean deletes) {
    return messages(rows, deletes, List.of());
  }

  /** Returns rows as messages. passed: the names of last columns of the rows, which stay */
  private Dataset<Row> messages(Dataset<Row> rows, boolean deletes, List<String> passed) {
    boolean isMarked = rows.columns().length - passed.size() > table.columnNames().size();
    List<String> names = new ArrayList<>(table.columnNames());
    if (isMarked) names.add(DELETED);
    names.addAll(passed);
    Dataset<Row> named = rows.toDF(names.toArray(String[]::new));
    List<Column> fields = new ArrayList<>(List.of(columns(passed)));
    if (table.isRaw()) {
      fields.addAll(List.of(columns(messageColumns())));
      return named.select(fields.toArray(Column[]::new));
    }
    List<String> keyColumns = table.keyColumns();
    String zone = named.sparkSession().conf().get("spark.sql.session.timeZone");
    if (!keyColumns.isEmpty())
      fields.add(table.keyFormat().encode(columns(keyColumns), zone).as("key"));
    Column[] values = columns(table.hasRawValue() ? valueColumns() : table.columnNames());
    Column isDeleted = isMarked ? col(DELETED) : deletes ? isEmpty() : lit(false);
    fields.add(value(values, isDeleted, deletes, zone).as("value"));
    return named.select(fields.toArray(Column[]::new));
  }

  private Column value(Column[] values, Column isDeleted, boolean deletes, String zone) {
    KafkaFormat format = table.valueFormat();
    if (table.hasChanges())
      return format.encodeChange(values, isDeleted, deletes ? "u" : "c", zone);
    Column value = format.encode(values, zone);
    return deletes ? when(not(isDeleted), value) : value;
  }

  /**
   * Returns rows as messages with all fields that a writer can set, in the order of
   * `TransactionalPartWriter`.
   */
  Dataset<Row> fullMessages(Dataset<Row> rows, boolean deletes) {
    return fullMessages(rows, deletes, List.of());
  }

  /** Returns rows as messages with all fields, after the last columns of the rows. */
  Dataset<Row> fullMessages(Dataset<Row> rows, boolean deletes, List<String> passed) {
    Dataset<Row> messages = messages(rows, deletes, passed);
    List<Column> columns = new ArrayList<>(List.of(columns(passed)));
    for (String name : FIELDS) {
      boolean isGiven = Arrays.stream(messages.columns()).anyMatch(name::equalsIgnoreCase);
      Column field = isGiven ? col(name) : lit(null);
      columns.add(field.cast(KafkaTable.MESSAGE_WITH_HEADERS.apply(name).dataType()).as(name));
    }
    return messages.select(columns.toArray(Column[]::new));
  }

  /** Returns the columns that are not part of the key. */
  private List<String> valueColumns() {
    return List.of(table.columnsExcept(table.keyColumns()).fieldNames());
  }

  /** Returns whether all columns of a row are NULL except the key's. */
  private Column isEmpty() {
    Column[] others = columns(valueColumns());
    Column empty = lit(others.length > 0);
    for (Column other : others) empty = empty.and(other.isNull());
    return empty;
  }

  private static Column[] columns(List<String> names) {
    return names.stream()
        .map(name -> col("`" + name.replace("`", "``") + "`"))
        .toArray(Column[]::new);
  }

  /**
   * Returns the columns among Kafka's own that a writer can set. Kafka sets offset and timestamps.
   */
  private List<String> messageColumns() {
    Set<String> fields = Set.of(FIELDS);
    return table.columnNames().stream()
        .filter(name -> fields.contains(name.toLowerCase(Locale.ROOT)))
        .toList();
  }
}
