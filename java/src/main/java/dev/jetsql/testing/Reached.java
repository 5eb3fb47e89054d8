package dev.jetsql.testing;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.NodeExpression;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;

/** An expression whose evaluations are noted for the coverage of unit tests. */
public final class Reached extends NodeExpression implements CodegenFallback {
  private static final long serialVersionUID = 1;

  private final Expression child;
  private final String site;

  /** Creates the expression. site: see `Coverage` */
  public Reached(Expression child, String site) {
    super(Sequences.of(child), site);
    this.child = child;
    this.site = site;
  }

  @Override
  public Object eval(InternalRow row) {
    var value = child.eval(row);
    Coverage.reach(site, value);
    return value;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  @Override
  public DataType dataType() {
    return child.dataType();
  }

  @Override
  public boolean nullable() {
    return child.nullable();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Reached(children.head(), site);
  }

  @Override
  public String prettyName() {
    return "reached";
  }
}
