package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.UnaryPlan;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/** MATCH_RECOGNIZE until Spark's analyzer has resolved its expressions. */
public final class UnresolvedMatch extends UnaryPlan {
  private final MatchClause clause;
  private final Seq<Expression> expressions;

  /**
   * Creates a node. Spark copies plans with the only public constructor.
   *
   * @param expressions those of the clause, see `MatchClause`
   */
  public UnresolvedMatch(LogicalPlan child, MatchClause clause, Seq<Expression> expressions) {
    super(child, clause, expressions);
    this.clause = clause;
    this.expressions = expressions;
  }

  MatchClause clause() {
    return clause;
  }

  /** Returns the expressions of the clause. */
  Seq<Expression> parts() {
    return expressions;
  }

  @Override
  public Seq<Attribute> output() {
    return Sequences.of();
  }

  @Override
  public boolean resolved() {
    return false;
  }

  @Override
  public LogicalPlan withNewChildInternal(LogicalPlan child) {
    return new UnresolvedMatch(child, clause, expressions);
  }

  @Override
  public String nodeName() {
    return "MATCH_RECOGNIZE";
  }

  @Override
  public String simpleString(int maxFields) {
    return "MATCH_RECOGNIZE PATTERN (%s) [%s]".formatted(clause.text(), Plans.texts(expressions));
  }
}
