package dev.jetsql.kafka;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.explode;
import static org.apache.spark.sql.functions.lit;

import dev.jetsql.records.OnError;
import dev.jetsql.records.SourceColumns;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** Decodes the messages of a Kafka table to rows with the table's columns. */
final class MessageDecoder {
  private static final String ERROR_PREFIX = "The message at offset ";
  private static final List<String> RANGE_OPTIONS =
      List.of(
          "subscribe",
          "subscribePattern",
          "assign",
          "startingOffsets",
          "startingTimestamp",
          "startingOffsetsByTimestamp",
          "startingOffsetsByTimestampStrategy",
          "endingOffsets",
          "endingTimestamp",
          "endingOffsetsByTimestamp");

  private static final List<String> START_OPTIONS =
      List.of("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets");

  private final KafkaTable table;

  MessageDecoder(KafkaTable table) {
    this.table = table;
  }

  /** Returns the messages as rows with all columns, metadata columns included. */
  Dataset<Row> rows(boolean streaming) {
    Map<String, String> options = ConnectorOptions.ofReader(table, streaming);
    // The connector ignores these options. They identify the table in a plan.
    options.put(KafkaTable.TABLE, table.name());
    options.put(KafkaTable.CREATED, Long.toString(table.catalogTable().createTime()));
    if (!table.isRaw()) options.put(OnError.APPLIED, onError());
    String start = startOption();
    if (start != null) options.put(KafkaTable.START, start);
    Dataset<Row> messages =
        streaming
            ? table.session().readStream().format("kafka").options(options).load()
            : read(options);
    if (table.isRaw()) return messages;
    Dataset<Row> rows = columns(withErrorsHandled(parse(messages)));
    Watermark watermark = streaming ? table.watermark() : null;
    return watermark == null ? rows : rows.withWatermark(watermark.column(), watermark.delay());
  }

  /** Returns the option that says where a stream begins, or null without one. */
  private String startOption() {
    for (String name : START_OPTIONS) {
      String value = table.option(name);
      if (value != null) return "'" + name + "' = '" + value + "'";
    }
    return null;
  }

  /**
   * Returns the messages in a range of offsets that do not fit the columns, with the reason.
   *
   * @param partitions the option `assign`, JSON
   * @param start the option `startingOffsets`, JSON
   * @param end the option `endingOffsets`, JSON
   */
  Dataset<Row> deadLetters(String partitions, String start, String end) {
    Map<String, String> options = ConnectorOptions.ofReader(table, false);
    for (String range : RANGE_OPTIONS) OptionMaps.remove(options, range);
    options.put("assign", partitions);
    options.put("startingOffsets", start);
    options.put("endingOffsets", end);
    return deadLetters(read(options));
  }

  /** Returns those of the messages, rows with Kafka's fields, that do not fit the columns. */
  Dataset<Row> deadLetters(Dataset<Row> messages) {
    Column value = col("__value");
    KafkaFormat format = table.valueFormat();
    return parse(messages)
        .filter(format.isBroken(value, col(OnError.ROW)))
        .select(
            col("_topic").as("topic"),
            col("_partition").as("partition"),
            col("_offset").as("offset"),
            col("_timestamp").as("timestamp"),
            col("_key").as("key"),
            value.as("value"),
            format.reason(value).as("reason"));
  }

  private Dataset<Row> read(Map<String, String> options) {
    return table.session().read().format("kafka").options(options).load();
  }

  /** Returns the messages with value and key parsed into structs, `__row` and `__keys`. */
  private Dataset<Row> parse(Dataset<Row> messages) {
    Column value = col("value");
    Column key = col("key");
    Column keys = table.keyColumns().isEmpty() ? lit(null) : table.keyFormat().parse(key);
    // The row is exploded from an array with one element. Otherwise Spark would replace the alias
    // in filters by its expression and parse the bytes several times.
    Column row = explode(array(table.valueFormat().parse(value)));
    // A message without a value follows each deletion, for the compaction of the topic.
    Dataset<Row> read = table.hasChanges() ? messages.filter(value.isNotNull()) : messages;
    return read.select(
        value.as("__value"),
        row.as(OnError.ROW),
        keys.as("__keys"),
        key.as("_key"),
        col("topic").as("_topic"),
        col("partition").as("_partition"),
        col("offset").as("_offset"),
        col("timestamp").as("_timestamp"));
  }

  /** Applies the option `on.error` to the messages that do not fit the columns. */
  private Dataset<Row> withErrorsHandled(Dataset<Row> messages) {
    Column row = col(OnError.ROW);
    Column broken = table.valueFormat().isBroken(col("__value"), row);
    Column message =
        concat(
            lit(ERROR_PREFIX),
            col("_offset"),
            lit(" of topic "),
            col("_topic"),
            lit(", partition "),
            col("_partition"),
            lit(", does not fit the columns of " + table.name() + ": "),
            table.valueFormat().reason(col("__value")),
            lit(
                ". To accept such messages, set the table option 'on.error' to 'null', 'skip' or"
                    + " 'table:NAME'."));
    return OnError.apply(messages, onError(), broken, message);
  }

  private String onError() {
    String onError = table.option(OnError.OPTION);
    return onError == null ? OnError.FAIL : onError;
  }

  private Dataset<Row> columns(Dataset<Row> messages) {
    List<Column> columns = new ArrayList<>();
    List<String> keyColumns = table.keyColumns();
    for (String name : table.columnNames()) {
      Column value = col(OnError.ROW).getField(name);
      Column key = col("__keys").getField(name);
      Column inMessage =
          !keyColumns.contains(name) ? value : table.hasRawValue() ? key : coalesce(value, key);
      columns.add(inMessage.as(name, SourceColumns.MARK));
    }
    List<String> ofChange =
        table.hasChanges() ? List.of(DebeziumChange.METADATA.fieldNames()) : List.of();
    for (String name : table.metadataColumns().fieldNames()) {
      boolean inChange = ofChange.contains(name);
      columns.add(inChange ? DebeziumChange.metadata(col(OnError.ROW), name).as(name) : col(name));
    }
    return messages.select(columns.toArray(Column[]::new));
  }
}
