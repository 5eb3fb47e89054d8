package dev.jetsql.testing;

import java.util.List;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import scala.collection.immutable.Seq;

/**
 * The rows that a query reads.
 *
 * @param table the table that has them, or the brokers that have the messages of a topic
 * @param isRead selects the messages of the topics that are read
 */
record MemoryRows(MemoryTable table, Predicate<InternalRow> isRead) {
  /** Returns the rows that there are now, with the columns of a plan's leaf. */
  List<InternalRow> now(Seq<? extends Attribute> output) {
    return table.withColumns(table.rows().stream().filter(isRead).toList(), output);
  }

  /** Returns rows in the order in which they were written. from, to: positions in the log */
  List<InternalRow> written(int from, int to) {
    return table.written(from).subList(0, to - from).stream().filter(isRead).toList();
  }
}
