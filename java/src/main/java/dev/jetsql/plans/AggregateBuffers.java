package dev.jetsql.plans;

import dev.jetsql.common.Sequences;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** The buffers of Spark's aggregates, which each row of a group updates. */
public final class AggregateBuffers implements Serializable {
  private static final long serialVersionUID = 1;

  private final List<Expression> calls;
  private final Seq<Attribute> columns;
  private transient Projections projections;

  /** Spark's code for the buffers. */
  private record Projections(
      MutableProjection initial, MutableProjection update, MutableProjection values) {}

  /**
   * Creates the buffers.
   *
   * @param calls calls for which `isPossible` holds
   * @param columns the columns of the rows
   */
  public AggregateBuffers(List<? extends Expression> calls, Seq<Attribute> columns) {
    this.calls = new ArrayList<>(calls);
    this.columns = columns;
  }

  /** Returns whether buffers can hold the result of a call. */
  public static boolean isPossible(Expression call) {
    if (call instanceof AggregateExpression aggregate)
      return !aggregate.isDistinct()
          && aggregate.aggregateFunction() instanceof DeclarativeAggregate;
    return call instanceof DeclarativeAggregate;
  }

  /** Returns the type of the buffers of all calls. */
  public StructType type() {
    var type = new StructType();
    for (var attribute : buffers()) type = type.add("b" + type.size(), attribute.dataType(), true);
    return type;
  }

  /** Returns new buffers, with the values of a stored row of them, or without rows if null. */
  public InternalRow open(InternalRow stored) {
    var types = buffers().stream().map(AttributeReference::dataType).toList();
    var buffer = new SpecificInternalRow(Sequences.of(types));
    if (stored == null) projections().initial().target(buffer).apply(InternalRow.empty());
    for (int i = 0; stored != null && i < types.size(); i++)
      buffer.update(i, stored.get(i, types.get(i)));
    return buffer;
  }

  public void update(InternalRow buffer, InternalRow row) {
    projections().update().target(buffer).apply(new JoinedRow(buffer, row));
  }

  private List<DataType> resultTypes() {
    return calls.stream().map(Expression::dataType).toList();
  }

  /** Returns the results of the calls, as values of rows for users. */
  public List<Object> results(InternalRow buffer) {
    var values = values(buffer);
    var results = new ArrayList<Object>();
    for (int i = 0; i < values.length; i++)
      results.add(CatalystTypeConverters.convertToScala(values[i], calls.get(i).dataType()));
    return results;
  }

  /** Returns the results of the calls. */
  public Object[] values(InternalRow buffer) {
    var types = resultTypes();
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
    for (var call : calls) {
      var aggregate = aggregate(call);
      initial.addAll(Plans.list(aggregate.initialValues()));
      updates.addAll(updates(call, aggregate));
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

  /** Returns the new values of the buffers of a call: the old ones for rows that it filters. */
  private static List<Expression> updates(Expression call, DeclarativeAggregate of) {
    var updates = Plans.list(of.updateExpressions());
    if (!(call instanceof AggregateExpression aggregate) || aggregate.filter().isEmpty())
      return updates;
    var buffers = Plans.list(of.aggBufferAttributes());
    var filtered = new ArrayList<Expression>();
    for (int i = 0; i < updates.size(); i++)
      filtered.add(new If(aggregate.filter().get(), updates.get(i), buffers.get(i)));
    return filtered;
  }

  private List<AttributeReference> buffers() {
    return calls.stream()
        .flatMap(call -> Plans.list(aggregate(call).aggBufferAttributes()).stream())
        .toList();
  }

  private static DeclarativeAggregate aggregate(Expression call) {
    return (DeclarativeAggregate)
        (call instanceof AggregateExpression aggregate ? aggregate.aggregateFunction() : call);
  }
}
