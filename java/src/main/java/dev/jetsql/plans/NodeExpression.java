package dev.jetsql.plans;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import scala.collection.immutable.Seq;

/** An expression of JetSQL in Spark's plans. */
public abstract class NodeExpression extends Expression implements NodeParts, Serializable {
  private static final long serialVersionUID = 1L;

  private final Seq<Expression> children;
  private final List<Object> parts;

  /**
   * Creates an expression.
   *
   * @param parts the further arguments of the constructor in their order
   */
  protected NodeExpression(Seq<Expression> children, Object... parts) {
    this.children = children;
    this.parts = NodeParts.of(Plans.list(children), parts);
  }

  @Override
  public final List<Object> nodeParts() {
    return parts;
  }

  @Override
  public final Seq<Expression> children() {
    return children;
  }

  @Override
  public boolean equals(Object other) {
    return NodeParts.areEqual(this, other);
  }

  @Override
  public int hashCode() {
    return parts.hashCode();
  }
}
