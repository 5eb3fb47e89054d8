package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.AggregateBuffers;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** An aggregate over rows of a match. A longer match only adds its rows. */
final class MatchAggregate {
  private final AggregateBuffers buffers;
  private InternalRow buffer;
  private int[] added = new int[16];
  private int size;

  MatchAggregate(Expression call, List<Attribute> columns) {
    buffers = new AggregateBuffers(List.of(call), Sequences.of(columns));
  }

  /** Removes all rows. */
  void clear() {
    buffer = null;
    size = 0;
  }

  /** Removes the rows unless they begin the given ones. Returns how many rows there are. */
  int keepFirst(int[] rows) {
    var areFirst = size <= rows.length && Arrays.equals(added, 0, size, rows, 0, size);
    if (!areFirst) clear();
    return size;
  }

  /** Adds a row. number: its index */
  void add(int number, InternalRow row) {
    if (buffer == null) buffer = buffers.open(null);
    if (size == added.length) added = Arrays.copyOf(added, 2 * size);
    added[size++] = number;
    buffers.update(buffer, row);
  }

  Object value() {
    if (buffer == null) buffer = buffers.open(null);
    return buffers.values(buffer)[0];
  }
}
