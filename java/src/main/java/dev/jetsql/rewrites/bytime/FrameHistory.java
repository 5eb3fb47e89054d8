package dev.jetsql.rewrites.bytime;

import java.io.Serializable;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
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
 * The rows before the watermark that the frames of later rows contain.
 *
 * @param rows the last rows of a key
 * @param micros and those of this time before the watermark, in microseconds
 * @param all every row
 */
record FrameHistory(int rows, long micros, boolean all) implements Serializable {
  /**
   * Returns what all of the window functions need, or null if one needs later rows. {@link
   * RunningValues} need none.
   */
  static FrameHistory of(List<NamedExpression> functions) {
    var most = new FrameHistory(0, 0, false);
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
        Math.max(rows, other.rows), Math.max(micros, other.micros), all || other.all);
  }

  private static FrameHistory of(NamedExpression function) {
    if (!(function instanceof Alias alias)
        || !(alias.child() instanceof WindowExpression over)
        || over.windowFunction() instanceof SizeBasedWindowFunction
        || !(over.windowSpec().frameSpecification() instanceof SpecifiedWindowFrame frame))
      return null;
    if (offset(frame.upper()) > 0) return null;
    if (frame.lower() == UnboundedPreceding$.MODULE$) return new FrameHistory(0, 0, true);
    long offset = offset(frame.lower());
    if (offset > 0 || (offset < -Integer.MAX_VALUE && frame.frameType() == RowFrame$.MODULE$))
      return null;
    return frame.frameType() == RowFrame$.MODULE$
        ? new FrameHistory((int) -offset, 0, false)
        : new FrameHistory(0, -offset, false);
  }

  /** Returns a bound relative to the current row: rows or microseconds; a maximum if unknown. */
  private static long offset(Expression bound) {
    if (bound == CurrentRow$.MODULE$) return 0;
    var isNumber =
        bound.dataType() instanceof DayTimeIntervalType || bound.dataType() instanceof IntegerType;
    if (!bound.foldable() || !isNumber) return Long.MAX_VALUE;
    return bound.eval(null) instanceof Number number ? number.longValue() : Long.MAX_VALUE;
  }

  /** Returns the rows that are kept after the watermark has passed them, in words; or null. */
  private String kept() {
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
    if (kept() != null) parts.add(kept());
    if (isRunning) parts.add("the running values of each key");
    return parts.isEmpty() ? null : String.join(", and ", parts);
  }

  /** Returns the state in words. isRunning: see `kept` */
  String describe(boolean isRunning) {
    var kept = kept(isRunning);
    return kept == null ? "the rows that wait" : "the rows that wait, and " + kept;
  }
}
