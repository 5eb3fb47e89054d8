package dev.jetsql.rewrites.bytime;

import dev.jetsql.plans.RuleProcessor;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.AppendColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;

/**
 * Keeps rows of a key until the watermark has passed them. A key has one timer, at the earliest
 * time of the rows that the watermark has not passed.
 */
public abstract class ByTimeProcessor extends RuleProcessor {
  private static final long serialVersionUID = 1;
  private static final long MICROS = 1000;
  protected static final long NEVER = Long.MAX_VALUE;

  private transient ValueState<Long> timer;

  protected ByTimeProcessor(List<? extends Expression> stateExpressions, List<StructType> kept) {
    super(stateExpressions, kept);
  }

  /** Returns the rows of each stream that an operator by time reads; empty for any other. */
  public static List<StreamRows> streams(LogicalPlan node) {
    if (!(RuleProcessor.of(node) instanceof ByTimeProcessor processor)) return List.of();
    var keyed = (AppendColumns) ((TransformWithState) node).child();
    return processor.streamsOf(keyed.child());
  }

  /** Returns the rows of each stream. input: the rows of the processor, without their keys */
  protected abstract List<StreamRows> streamsOf(LogicalPlan input);

  /** Opens the state of the timer. A processor calls it at the end of `init`. */
  protected void openTimer() {
    timer = getHandle().getValueState("timer", Encoders.LONG(), TTLConfig.NONE());
  }

  /** Sets the timer to a time in microseconds, unless it is earlier; `NEVER` changes nothing. */
  protected void wakeAt(long micros) {
    if (micros == NEVER) return;
    long at = firstWatermark(micros);
    var isSet = timer.exists();
    if (isSet && timer.get() <= at) return;
    if (isSet) getHandle().deleteTimer(timer.get());
    getHandle().registerTimer(at);
    timer.update(at);
  }

  /** Forgets a timer that has expired, and returns the watermark in microseconds. */
  protected long expire(TimerValues now) {
    timer.clear();
    return now.getCurrentWatermarkInMs() * MICROS;
  }

  /** Returns the first watermark, in milliseconds, that has passed a time in microseconds. */
  private static long firstWatermark(long micros) {
    return -Math.floorDiv(-micros, MICROS);
  }

  protected static void write(ListState<Row> state, List<Row> rows) {
    if (rows.isEmpty()) state.clear();
    else state.put(rows.toArray(Row[]::new));
  }
}
