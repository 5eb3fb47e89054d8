package dev.jetsql.plans;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** An operator with state of a {@link RewriteRule}. */
public abstract class RuleProcessor extends StatefulProcessor<Row, Row, Row> {
  private static final long serialVersionUID = 1;

  private final List<Expression> stateExpressions;
  private final List<StructType> kept;

  /**
   * Creates a processor.
   *
   * @param stateExpressions the expressions that the state depends on
   * @param kept the types of the rows that the state keeps
   */
  protected RuleProcessor(List<? extends Expression> stateExpressions, List<StructType> kept) {
    this.stateExpressions = new ArrayList<>(stateExpressions);
    this.kept = new ArrayList<>(kept);
  }

  /** Returns the processor of a node, or null for any other operator. */
  public static RuleProcessor of(LogicalPlan node) {
    return node instanceof TransformWithState operator
            && (Object) operator.statefulProcessor() instanceof RuleProcessor processor
        ? processor
        : null;
  }

  /** Returns the processor of a node, or null for any other operator. */
  public static RuleProcessor of(SparkPlan node) {
    return node instanceof TransformWithStateExec operator
            && (Object) operator.statefulProcessor() instanceof RuleProcessor processor
        ? processor
        : null;
  }

  /** Returns the expressions that the state depends on. */
  public final List<Expression> stateExpressions() {
    return stateExpressions;
  }

  /** Returns the rows that the processor keeps, in words. */
  public abstract String state();

  /** Returns the rows that nothing removes, a phrase, or null if there are none. */
  public abstract String keptForEver();

  /** Returns whether the clock removes its rows, which then have no watermark. */
  public boolean isByClock() {
    return false;
  }

  /**
   * Returns the operator with this processor. Throws UnkeptType if its state cannot keep its rows.
   *
   * @param rows its input, with a name of its own for each column
   * @param keys the indexes of the columns by which rows are grouped
   * @param output the columns of its rows, by their positions
   */
  public LogicalPlan over(
      LogicalPlan rows,
      List<Integer> keys,
      Seq<Attribute> output,
      TimeMode timeMode,
      OutputMode outputMode) {
    var type = new StructType();
    for (var column : Plans.list(output)) type = type.add("c" + type.size(), column.dataType());
    var key = new KeyOfRow(keys, rows.schema());
    var keyType = key.type();
    StateTypes.checkKeys(key.columnTypes(), stateExpressions);
    for (var each : kept) StateTypes.check(each, stateExpressions);
    // Spark drops late rows of any input with a watermark. Only an operator by time expects it.
    var input = timeMode.equals(TimeMode.EventTime()) ? rows : Plans.withoutWatermark(rows);
    var result =
        Dataset.ofRows(SparkSession.active(), input)
            .groupByKey(key, StateTypes.encoder(keyType))
            .transformWithState(this, timeMode, outputMode, Encoders.row(type));
    return Plans.withColumns(result.queryExecution().analyzed(), output);
  }

  /** Returns a row with the first columns of another one, and more values. */
  protected static Row firstOf(Row row, int count, Object... more) {
    var values = new Object[count + more.length];
    for (int i = 0; i < count; i++) values[i] = row.get(i);
    System.arraycopy(more, 0, values, count, more.length);
    return RowFactory.create(values);
  }

  protected static List<Row> read(ListState<Row> state) {
    var rows = new ArrayList<Row>();
    var all = state.get();
    while (all.hasNext()) rows.add(all.next());
    return rows;
  }
}
