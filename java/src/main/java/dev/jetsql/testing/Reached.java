package dev.jetsql.testing;

import dev.jetsql.common.Sequences;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** An expression whose evaluations are noted for the coverage of unit tests. */
public final class Reached extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1;

  private final Expression child;
  private final String site;

  /** Creates the expression. site: see `Coverage` */
  public Reached(Expression child, String site) {
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
  public Seq<Expression> children() {
    return Sequences.of(List.of(child));
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Reached(children.head(), site);
  }

  @Override
  public String prettyName() {
    return "reached";
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? child : site;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Reached;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Reached same && same.child.equals(child) && same.site.equals(site);
  }

  @Override
  public int hashCode() {
    return 31 * child.hashCode() + site.hashCode();
  }
}
