package dev.jetsql.rewrites.bytime;

import java.io.Serializable;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.CurrentRow$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RowFrame$;
import org.apache.spark.sql.catalyst.expressions.SizeBasedWindowFunction;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.IntegerType;

/**
 * The rows before the watermark that the functions of later rows read.
 *
 * @param rows the last rows of a key
 * @param micros and those of this time before the watermark, in microseconds
 * @param all every row
 * @param lookBacks and those that are read over NULLs
 * @param setBack by how much the clock can be set back, in microseconds: a day that ends after this
 *     has so much more than 24 hours
 */
record FrameHistory(int rows, long micros, boolean all, List<LookBack> lookBacks, long setBack)
    implements Serializable {
  private static final long DAY = TimeUnit.DAYS.toMicros(1);
  private static final FrameHistory NONE = new FrameHistory(0, 0, false, List.of(), 0);

  /**
   * Returns what the frames of all window functions need, or null if one needs later rows. {@link
   * RunningValues} need none.
   */
  static FrameHistory of(List<NamedExpression> functions) {
    var most = NONE;
    for (var function : functions) {
      if (RunningValues.isRunning(function)) continue;
      var each = of(function);
      if (each == null) return null;
      most = most.and(each);
    }
    return most;
  }

  private FrameHistory and(FrameHistory other) {
    return new FrameHistory(
        Math.max(rows, other.rows),
        Math.max(micros, other.micros),
        all || other.all,
        lookBacks,
        setBack);
  }

  /** Returns what frames and functions that ignore NULLs need. zone: that of the days */
  FrameHistory with(List<LookBack> others, ZoneId zone) {
    return new FrameHistory(
        rows, micros, all, new ArrayList<>(others), micros < DAY ? 0 : setBack(zone.getRules()));
  }

  private static long setBack(ZoneRules zone) {
    var once = zone.getTransitions().stream().map(ZoneOffsetTransition::getDuration);
    var eachYear =
        zone.getTransitionRules().stream().map(rule -> rule.createTransition(2000).getDuration());
    var most = Stream.concat(once, eachYear).min(Comparator.naturalOrder()).orElse(Duration.ZERO);
    return Math.max(0, -TimeUnit.SECONDS.toMicros(most.toSeconds()));
  }

  private static FrameHistory of(NamedExpression function) {
    if (!(function instanceof Alias alias)
        || !(alias.child() instanceof WindowExpression over)
        || over.windowFunction() instanceof SizeBasedWindowFunction
        || !(over.windowSpec().frameSpecification() instanceof SpecifiedWindowFrame frame))
      return null;
    if (offset(frame.upper()) > 0) return null;
    if (LookBack.isUsed(over.windowFunction())) return NONE;
    if (frame.lower() == UnboundedPreceding$.MODULE$)
      return new FrameHistory(0, 0, true, List.of(), 0);
    long offset = offset(frame.lower());
    if (offset > 0 || (offset < -Integer.MAX_VALUE && frame.frameType() == RowFrame$.MODULE$))
      return null;
    return frame.frameType() == RowFrame$.MODULE$
        ? new FrameHistory((int) -offset, 0, false, List.of(), 0)
        : new FrameHistory(0, -offset, false, List.of(), 0);
  }

  /** Returns the rows that are kept of sorted rows that the watermark has passed. */
  List<InternalRow> kept(
      List<InternalRow> sorted, ToLongFunction<InternalRow> time, long watermark) {
    if (all) return sorted;
    long start = watermark - micros - setBack;
    int first = Math.max(0, sorted.size() - rows);
    while (first > 0 && time.applyAsLong(sorted.get(first - 1)) >= start) first--;
    var isRead = new boolean[first];
    for (var each : lookBacks) each.mark(sorted, isRead);
    var kept = new ArrayList<InternalRow>();
    for (int i = 0; i < sorted.size(); i++) if (i >= first || isRead[i]) kept.add(sorted.get(i));
    return kept;
  }

  /** Returns a bound relative to the current row: rows or microseconds; a maximum if unknown. */
  private static long offset(Expression bound) {
    if (bound == CurrentRow$.MODULE$) return 0;
    var isNumber =
        bound.dataType() instanceof DayTimeIntervalType || bound.dataType() instanceof IntegerType;
    if (!bound.foldable() || !isNumber) return Long.MAX_VALUE;
    return bound.eval(null) instanceof Number number ? number.longValue() : Long.MAX_VALUE;
  }

  /** Returns the rows of the frames, in words; or null. */
  private String ofFrames() {
    if (all) return "all rows of each key";
    if (rows == 0 && micros == 0) return null;
    var range =
        "those of %s s"
            .formatted(BigDecimal.valueOf(micros, 6).stripTrailingZeros().toPlainString());
    if (micros == 0) return "the last %d rows of each key".formatted(rows);
    return rows == 0
        ? range + " of each key"
        : "the last %d rows of each key and %s".formatted(rows, range);
  }

  /** Returns what is kept for ever, in words; or null. isRunning: whether values run as well */
  String kept(boolean isRunning) {
    var parts = new ArrayList<String>();
    if (ofFrames() != null) parts.add(ofFrames());
    for (var each : all ? List.<LookBack>of() : lookBacks)
      parts.add(each.describe() + " of each key");
    if (isRunning) parts.add("the running values of each key");
    return parts.isEmpty() ? null : String.join(", and ", parts);
  }

  /** Returns the state in words. isRunning: see `kept` */
  String describe(boolean isRunning) {
    var kept = kept(isRunning);
    return kept == null ? "the rows that wait" : "the rows that wait, and " + kept;
  }
}
