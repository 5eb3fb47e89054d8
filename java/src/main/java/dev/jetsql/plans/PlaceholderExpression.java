package dev.jetsql.plans;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import scala.collection.immutable.Seq;

/** An expression that a rule of JetSQL replaces before Spark evaluates it. */
public abstract class PlaceholderExpression extends NodeExpression implements Unevaluable {
  private static final long serialVersionUID = 1L;

  /**
   * Creates an expression.
   *
   * @param parts the further arguments of the constructor in their order
   */
  protected PlaceholderExpression(Seq<Expression> children, Object... parts) {
    super(children, parts);
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
}
