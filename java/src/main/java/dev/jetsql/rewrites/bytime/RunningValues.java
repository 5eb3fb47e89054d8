package dev.jetsql.rewrites.bytime;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CurrentRow$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RangeFrame$;
import org.apache.spark.sql.catalyst.expressions.SizeBasedWindowFunction;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
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
  private final Seq<Attribute> columns;
  private transient Projections projections;

  /** Spark's code for the buffers of the functions. */
  private record Projections(
      MutableProjection initial, MutableProjection update, MutableProjection values) {}

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
    this.columns = columns;
  }

  /** Returns whether the buffers of a window function can replace the rows of its frame. */
  static boolean isRunning(NamedExpression function) {
    if (!(((Expression) function).children().head() instanceof WindowExpression over)
        || !(over.windowSpec().frameSpecification() instanceof SpecifiedWindowFrame frame)
        || frame.lower() != UnboundedPreceding$.MODULE$
        || frame.upper() != CurrentRow$.MODULE$
        || over.windowFunction() instanceof SizeBasedWindowFunction) return false;
    var aggregate = over.windowFunction();
    if (aggregate instanceof AggregateExpression call)
      return !call.isDistinct() && call.aggregateFunction() instanceof DeclarativeAggregate;
    return aggregate instanceof DeclarativeAggregate;
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
    var type = new StructType();
    for (var attribute : buffers()) type = type.add("b" + type.size(), attribute.dataType(), true);
    return type;
  }

  /** Returns new buffers, with the values of a stored row of them, or without rows if null. */
  InternalRow buffers(InternalRow stored) {
    var types = buffers().stream().map(AttributeReference::dataType).toList();
    var buffer = new SpecificInternalRow(Sequences.of(types));
    if (stored == null) projections().initial().target(buffer).apply(InternalRow.empty());
    for (int i = 0; stored != null && i < types.size(); i++)
      buffer.update(i, stored.get(i, types.get(i)));
    return buffer;
  }

  /** Returns the values of the functions for each of the next rows, and updates the buffers. */
  List<Object[]> evaluate(InternalRow buffer, List<InternalRow> sorted) {
    var results = new ArrayList<Object[]>();
    for (int from = 0; from < sorted.size(); from = results.size()) {
      int to = from;
      do {
        update(buffer, sorted.get(to++));
        results.add(values(buffer));
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

  private void update(InternalRow buffer, InternalRow row) {
    projections().update().target(buffer).apply(new JoinedRow(buffer, row));
  }

  private Object[] values(InternalRow buffer) {
    var types = functions.stream().map(WindowExpression::dataType).toList();
    var target = new SpecificInternalRow(Sequences.of(types));
    projections().values().target(target).apply(buffer);
    var values = new Object[types.size()];
    for (int i = 0; i < values.length; i++)
      values[i] = InternalRow.copyValue(target.get(i, types.get(i)));
    return values;
  }

  private Projections projections() {
    if (projections != null) return projections;
    var initial = new ArrayList<Expression>();
    var updates = new ArrayList<Expression>();
    var values = new ArrayList<Expression>();
    for (var function : functions) {
      var aggregate = aggregate(function);
      initial.addAll(Plans.list(aggregate.initialValues()));
      updates.addAll(updates(function, aggregate));
      values.add(aggregate.evaluateExpression());
    }
    var buffers = new ArrayList<Attribute>(buffers());
    var both = new ArrayList<>(buffers);
    both.addAll(Plans.list(columns));
    projections =
        new Projections(
            MutableProjection.create(Sequences.of(initial)),
            MutableProjection.create(Sequences.of(updates), Sequences.of(both)),
            MutableProjection.create(Sequences.of(values), Sequences.of(buffers)));
    return projections;
  }

  /** Returns the new values of the buffers of a function: the old ones for rows that it filters. */
  private static List<Expression> updates(WindowExpression function, DeclarativeAggregate of) {
    var updates = Plans.list(of.updateExpressions());
    if (!(function.windowFunction() instanceof AggregateExpression call) || call.filter().isEmpty())
      return updates;
    var buffers = Plans.list(of.aggBufferAttributes());
    var filtered = new ArrayList<Expression>();
    for (int i = 0; i < updates.size(); i++)
      filtered.add(new If(call.filter().get(), updates.get(i), buffers.get(i)));
    return filtered;
  }

  private List<AttributeReference> buffers() {
    return functions.stream()
        .flatMap(function -> Plans.list(aggregate(function).aggBufferAttributes()).stream())
        .toList();
  }

  private static DeclarativeAggregate aggregate(WindowExpression over) {
    return (DeclarativeAggregate)
        (over.windowFunction() instanceof AggregateExpression call
            ? call.aggregateFunction()
            : over.windowFunction());
  }
}
