package dev.jetsql.flink;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.PlaceholderExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.IndexedSeq;

/** The condition that a column is a processing time, which {@link SystemTime.Check} removes. */
final class ProcessingTimeCheck extends PlaceholderExpression {
  private static final long serialVersionUID = 1L;

  private final Expression column;

  ProcessingTimeCheck(Expression column) {
    super(Sequences.of(column));
    this.column = column;
  }

  Expression column() {
    return column;
  }

  @Override
  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new ProcessingTimeCheck(children.head());
  }
}
