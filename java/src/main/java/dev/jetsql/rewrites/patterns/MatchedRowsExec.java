package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.UnaryExec;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.AllTuples$;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.Seq;

/** The matches in a table: each task reads the rows of its keys in their order. */
public final class MatchedRowsExec extends UnaryExec {
  private static final long serialVersionUID = 1L;

  private final MatchPlan match;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> results;

  /** Creates the operator. */
  public MatchedRowsExec(
      SparkPlan child, MatchPlan match, Seq<Attribute> inputs, Seq<Attribute> results) {
    super(child, match, inputs, results);
    this.match = match;
    this.inputs = inputs;
    this.results = results;
  }

  private List<SortOrder> keyOrder() {
    var keys = new ArrayList<SortOrder>();
    for (int key : match.keys())
      keys.add(
          new SortOrder(
              inputs.apply(key), Ascending$.MODULE$, NullsFirst$.MODULE$, Sequences.of()));
    return keys;
  }

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    var keys = keyOrder().stream().map(SortOrder::child).toList();
    return Sequences.of(
        keys.isEmpty() ? AllTuples$.MODULE$ : SparkCalls.clustered(Sequences.<Expression>of(keys)));
  }

  @Override
  public Seq<Seq<SortOrder>> requiredChildOrdering() {
    var order = keyOrder();
    order.addAll(Plans.list(match.order(Plans.list(inputs))));
    return Sequences.of(List.of(Sequences.of(order)));
  }

  @Override
  public RDD<InternalRow> doExecute() {
    var task = new MatchTask(match, Sequences.of(keyOrder()), inputs, child().output());
    return child().execute().toJavaRDD().mapPartitions(task, true).rdd();
  }

  @Override
  public Seq<Attribute> output() {
    return results;
  }

  @Override
  public String nodeName() {
    return "MatchedRows";
  }

  @Override
  public String simpleString(int maxFields) {
    return "MatchedRows [%s], %s".formatted(Plans.texts(inputs), match.meaning());
  }

  @Override
  public SparkPlan withNewChildInternal(SparkPlan newChild) {
    return new MatchedRowsExec(newChild, match, inputs, results);
  }
}
