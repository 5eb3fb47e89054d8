package dev.jetsql.stream;

import dev.jetsql.plans.Plans;
import dev.jetsql.rewrites.bytime.StreamRows;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.FullOuter$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.RightOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import scala.collection.immutable.Seq;

/** The streams of Spark's join of streams, which drops the late rows of each. */
final class JoinInputs {
  private JoinInputs() {}

  /** Returns the streams that have a column with a watermark. */
  static List<StreamRows> of(Join join) {
    return of(join, join.left().output(), join.right().output());
  }

  /**
   * Returns the streams whose late rows a planned join drops. The optimizer removes a column that
   * the query does not use, and without the column with the watermark, the join drops no rows.
   */
  static List<StreamRows> of(Join join, StreamingSymmetricHashJoinExec planned) {
    return of(join, planned.left().output(), planned.right().output());
  }

  private static List<StreamRows> of(Join join, Seq<Attribute> leftUsed, Seq<Attribute> rightUsed) {
    var left = time(join.left());
    var right = time(join.right());
    var names = StreamRows.names(left, right);
    var keepsLeft = isOneOf(join.joinType(), LeftOuter$.MODULE$, FullOuter$.MODULE$);
    var keepsRight = isOneOf(join.joinType(), RightOuter$.MODULE$, FullOuter$.MODULE$);
    var inputs = new ArrayList<StreamRows>();
    if (Plans.hasWatermark(leftUsed))
      inputs.add(stream(join, join.left(), names.get(0), left, keepsLeft));
    if (Plans.hasWatermark(rightUsed))
      inputs.add(stream(join, join.right(), names.get(1), right, keepsRight));
    return inputs;
  }

  private static Attribute time(LogicalPlan rows) {
    for (var column : Plans.list(rows.output())) if (Plans.hasWatermark(column)) return column;
    return null;
  }

  private static boolean isOneOf(JoinType type, JoinType... types) {
    return List.of(types).contains(type);
  }

  /**
   * Returns the rows of one side. isKept: whether the result has also the rows that ON excludes.
   * The optimizer filters the other rows before the join.
   */
  private static StreamRows stream(
      Join join, LogicalPlan rows, String name, Attribute time, boolean isKept) {
    Expression condition = null;
    if (!isKept && join.condition().isDefined())
      for (var part : Plans.conjuncts(join.condition().get()))
        if (part.references().subsetOf(rows.outputSet()) && part.deterministic())
          condition = condition == null ? part : new And(condition, part);
    return new StreamRows(name, rows, time, condition);
  }
}
