package dev.jetsql.kafka;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark$;
import org.apache.spark.sql.catalyst.util.IntervalUtils$;

/**
 * The option `watermark` of a table, `column DELAY OF interval`.
 *
 * @param column the column of event times, without backticks
 * @param delay an interval as Spark reads it
 */
record Watermark(String column, String delay) {
  private static final Pattern FORM =
      Pattern.compile("`?(.+?)`?\\s+DELAY\\s+OF\\s+(.+)", Pattern.CASE_INSENSITIVE);

  /**
   * Return the watermark that a text describes, or null for another text. The interval is not
   * checked.
   */
  static Watermark parse(String text) {
    Matcher found = FORM.matcher(text.trim());
    return found.matches()
        ? new Watermark(found.group(1).replace("``", "`"), found.group(2))
        : null;
  }

  /** Return the delay in milliseconds. Raises Spark's errors for what is no interval. */
  long delayMillis() {
    return EventTimeWatermark$.MODULE$.getDelayMs(IntervalUtils$.MODULE$.fromIntervalString(delay));
  }
}
