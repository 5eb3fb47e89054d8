package dev.jetsql.rewrites.patterns;

import dev.jetsql.plans.Plans;
import dev.jetsql.plans.UnaryPlan;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/** The rows that a MATCH_RECOGNIZE returns. */
public final class MatchedRows extends UnaryPlan {
  private final MatchPlan match;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> results;

  /**
   * Creates a node. Spark copies plans with the only public constructor.
   *
   * @param inputs the columns of `child` that the match reads, in its order
   * @param results the columns of the result
   */
  public MatchedRows(
      LogicalPlan child, MatchPlan match, Seq<Attribute> inputs, Seq<Attribute> results) {
    super(child, match, inputs, results);
    this.match = match;
    this.inputs = inputs;
    this.results = results;
  }

  MatchPlan match() {
    return match;
  }

  Seq<Attribute> inputs() {
    return inputs;
  }

  @Override
  public Seq<Attribute> output() {
    return results;
  }

  @Override
  public LogicalPlan withNewChildInternal(LogicalPlan child) {
    return new MatchedRows(child, match, inputs, results);
  }

  @Override
  public String nodeName() {
    return "MatchedRows";
  }

  @Override
  public String simpleString(int maxFields) {
    return "MatchedRows [%s], %s".formatted(Plans.texts(inputs), match.meaning());
  }
}
