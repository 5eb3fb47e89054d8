package dev.jetsql.rewrites;

import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BitwiseNot;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnixDate;
import org.apache.spark.sql.catalyst.expressions.UnixMicros;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.MaxBy;
import org.apache.spark.sql.catalyst.expressions.aggregate.MinBy;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.TimestampType;

/**
 * The first row of a group, by Spark's max_by() or min_by(), which need less processor time than
 * {@link TopRowsAggregate}.
 *
 * <p>They compare a struct of the ORDER BY columns, in which NULL is the smallest value. Columns in
 * the other direction are negated, and a flag in front of a column moves its NULLs to the other
 * end.
 */
final class FirstRowAggregate {
  private FirstRowAggregate() {}

  /**
   * Returns the aggregate, whose result is a struct of the values, or null if the order cannot be
   * expressed: it has a direction that its type does not have.
   */
  static AggregateFunction of(List<Attribute> values, List<SortOrder> orderBy) {
    var startsWithLargest = !isAscending(orderBy.get(0));
    var aggregate = of(values, orderBy, startsWithLargest);
    return aggregate == null ? of(values, orderBy, !startsWithLargest) : aggregate;
  }

  private static AggregateFunction of(
      List<Attribute> values, List<SortOrder> orderBy, boolean largest) {
    var keys = new ArrayList<Expression>();
    for (var by : orderBy) {
      var key = by.child();
      var nullsComeFirst = by.nullOrdering().equals(NullsFirst$.MODULE$);
      if (key.nullable() && nullsComeFirst == largest) keys.add(new IsNull(key));
      var value = isAscending(by) == largest ? negated(key) : key;
      if (value == null) return null;
      keys.add(value);
    }
    // max_by() and min_by() ignore rows whose key is NULL, which a struct never is.
    var isPlain = keys.size() == 1 && !keys.get(0).nullable();
    var key = isPlain ? keys.get(0) : struct(keys);
    return largest ? new MaxBy(struct(values), key) : new MinBy(struct(values), key);
  }

  private static boolean isAscending(SortOrder by) {
    return by.direction().equals(Ascending$.MODULE$);
  }

  /** Returns a value with the opposite order, or null if there is none for its type. */
  private static Expression negated(Expression key) {
    var type = key.dataType();
    if (type instanceof BooleanType) return new Not(key);
    if (type instanceof IntegralType) return new BitwiseNot(key);
    if (type instanceof DateType) return new BitwiseNot(new UnixDate(key));
    return type instanceof TimestampType ? new BitwiseNot(new UnixMicros(key)) : null;
  }

  /** Returns a struct with the fields `c0`, `c1` and so on, because columns may share a name. */
  private static CreateNamedStruct struct(List<? extends Expression> values) {
    var fields = new ArrayList<Expression>();
    for (int i = 0; i < values.size(); i++) {
      fields.add(Literal$.MODULE$.apply("c" + i));
      fields.add(values.get(i));
    }
    return new CreateNamedStruct(Sequences.of(fields));
  }
}
