package dev.jetsql.flink;

import dev.jetsql.common.Sequences;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** The condition that a column is a processing time, which {@link SystemTime.Check} removes. */
final class ProcessingTimeCheck extends Expression implements Unevaluable {
  private static final long serialVersionUID = 1L;

  private final Expression column;

  ProcessingTimeCheck(Expression column) {
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
  public boolean foldable() {
    return Unevaluable.super.foldable();
  }

  @Override
  public Object eval(InternalRow row) {
    return Unevaluable.super.eval(row);
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return Unevaluable.super.doGenCode(context, code);
  }

  @Override
  public Seq<Expression> children() {
    return Sequences.of(column);
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new ProcessingTimeCheck(children.head());
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int n) {
    return column;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof ProcessingTimeCheck;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ProcessingTimeCheck check && check.column.equals(column);
  }

  @Override
  public int hashCode() {
    return column.hashCode();
  }
}
