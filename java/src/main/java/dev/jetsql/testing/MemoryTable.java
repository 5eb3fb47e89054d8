package dev.jetsql.testing;

import dev.jetsql.common.Json;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of a table in a unit test: what the table has now, and all rows that were ever written,
 * which streams read. The rows of a Kafka table are its messages.
 */
public final class MemoryTable {
  private final String name;
  private final StructType columns;
  private final List<InternalRow> log = new ArrayList<>();
  private List<InternalRow> rows = new ArrayList<>();

  MemoryTable(String name, StructType columns) {
    this.name = name;
    this.columns = columns;
  }

  public String name() {
    return name;
  }

  StructType columns() {
    return columns;
  }

  /** Returns the rows that the table has now. */
  synchronized List<InternalRow> rows() {
    return List.copyOf(rows);
  }

  /** Returns the number of rows that were ever written. */
  synchronized int written() {
    return log.size();
  }

  /** Returns rows in the order in which they were written. from: how many rows to skip */
  synchronized List<InternalRow> written(int from) {
    return List.copyOf(log.subList(from, log.size()));
  }

  synchronized void append(List<InternalRow> added) {
    rows.addAll(added);
    log.addAll(added);
  }

  synchronized void replace(List<InternalRow> current) {
    rows = new ArrayList<>(current);
    log.addAll(current);
  }

  /** Replaces the partitions that the rows belong to. partitions: the names of their columns */
  synchronized void replacePartitions(List<InternalRow> added, List<String> partitions) {
    var replaced = new java.util.HashSet<List<Object>>();
    for (var row : added) replaced.add(key(row, partitions));
    rows.removeIf(row -> replaced.contains(key(row, partitions)));
    append(added);
  }

  /**
   * Updates rows by their keys.
   *
   * @param changes rows of the table, of deletions with a last column that marks them
   * @param keys the names of the key columns
   */
  synchronized void update(List<InternalRow> changes, List<String> keys, boolean isMarked) {
    Map<List<Object>, InternalRow> byKey = new LinkedHashMap<>();
    for (var row : rows) byKey.put(key(row, keys), row);
    for (var change : changes) {
      var isDeleted = isMarked && change.getBoolean(columns.length());
      if (isDeleted) byKey.remove(key(change, keys));
      else {
        byKey.put(key(change, keys), change);
        log.add(change);
      }
    }
    rows = new ArrayList<>(byKey.values());
  }

  private List<Object> key(InternalRow row, List<String> keys) {
    var values = new ArrayList<Object>();
    for (var key : keys) {
      int at = ordinal(key);
      var value = row.isNullAt(at) ? null : row.get(at, columns.fields()[at].dataType());
      values.add(value instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : value);
    }
    return values;
  }

  /** Returns the place of a column, or -1. */
  private int ordinal(String column) {
    var names = columns.fieldNames();
    for (int i = 0; i < names.length; i++)
      if (names[i].toLowerCase(Locale.ROOT).equals(column.toLowerCase(Locale.ROOT))) return i;
    return -1;
  }

  /** Returns rows with the columns of a plan's leaf; a column that the table lacks is NULL. */
  List<InternalRow> withColumns(List<InternalRow> rows, Seq<? extends Attribute> output) {
    var attributes = List.copyOf(CollectionConverters.asJava(output));
    int[] places = attributes.stream().mapToInt(each -> ordinal(each.name())).toArray();
    boolean isSame = places.length == columns.length();
    for (int i = 0; isSame && i < places.length; i++) isSame = places[i] == i;
    if (isSame) return rows;
    var projected = new ArrayList<InternalRow>();
    for (var row : rows) {
      var values = new Object[places.length];
      for (int i = 0; i < places.length; i++)
        if (places[i] >= 0 && !row.isNullAt(places[i]))
          values[i] = row.get(places[i], columns.fields()[places[i]].dataType());
      projected.add(new GenericInternalRow(values));
    }
    return projected;
  }

  @Override
  public String toString() {
    return Json.write(Map.of("table", name, "columns", Arrays.asList(columns.fieldNames())));
  }
}
