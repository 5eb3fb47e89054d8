package dev.jetsql.rewrites.bytime;

import dev.jetsql.plans.AggregateBuffers;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CurrentRow$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RangeFrame$;
import org.apache.spark.sql.catalyst.expressions.SizeBasedWindowFunction;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Window functions over all rows of a key up to the current one, such as a running total: each row
 * updates the buffers of Spark's aggregates, so that no row has to be kept.
 */
final class RunningValues implements Serializable {
  private static final long serialVersionUID = 1;

  private final List<WindowExpression> functions = new ArrayList<>();
  private final InterpretedOrdering order;
  private final AggregateBuffers buffers;

  /**
   * Creates the values.
   *
   * @param functions functions for which `isRunning` holds
   * @param order the order of the rows; rows that are equal in it are peers
   * @param columns the columns of the rows
   */
  RunningValues(
      List<NamedExpression> functions, InterpretedOrdering order, Seq<Attribute> columns) {
    for (var each : functions)
      this.functions.add((WindowExpression) ((Expression) each).children().head());
    this.order = order;
    this.buffers =
        new AggregateBuffers(
            this.functions.stream().map(WindowExpression::windowFunction).toList(), columns);
  }

  /** Returns whether the buffers of a window function can replace the rows of its frame. */
  static boolean isRunning(NamedExpression function) {
    return ((Expression) function).children().head() instanceof WindowExpression over
        && over.windowSpec().frameSpecification() instanceof SpecifiedWindowFrame frame
        && frame.lower() == UnboundedPreceding$.MODULE$
        && frame.upper() == CurrentRow$.MODULE$
        && !(over.windowFunction() instanceof SizeBasedWindowFunction)
        && AggregateBuffers.isPossible(over.windowFunction());
  }

  boolean isEmpty() {
    return functions.isEmpty();
  }

  /** Returns the functions with their order, on which the buffers depend. */
  List<Expression> expressions() {
    return List.copyOf(functions);
  }

  /** Returns the type of the buffers of all functions. */
  StructType bufferType() {
    return buffers.type();
  }

  /** Returns new buffers, with the values of a stored row of them, or without rows if null. */
  InternalRow buffers(InternalRow stored) {
    return buffers.open(stored);
  }

  /** Returns the values of the functions for each of the next rows, and updates the buffers. */
  List<Object[]> evaluate(InternalRow buffer, List<InternalRow> sorted) {
    var results = new ArrayList<Object[]>();
    for (int from = 0; from < sorted.size(); from = results.size()) {
      int to = from;
      do {
        buffers.update(buffer, sorted.get(to++));
        results.add(buffers.values(buffer));
      } while (to < sorted.size() && order.compare(sorted.get(from), sorted.get(to)) == 0);
      var last = results.get(to - 1);
      for (var values : results.subList(from, to)) {
        for (int i = 0; i < values.length; i++) if (hasPeers(i)) values[i] = last[i];
      }
    }
    return results;
  }

  /** Returns whether the frame of a function ends after the last peer of the current row. */
  private boolean hasPeers(int number) {
    var frame = functions.get(number).windowSpec().frameSpecification();
    return ((SpecifiedWindowFrame) frame).frameType() == RangeFrame$.MODULE$;
  }
}
