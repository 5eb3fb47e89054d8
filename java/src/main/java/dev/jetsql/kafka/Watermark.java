package dev.jetsql.kafka;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark$;
import org.apache.spark.sql.catalyst.util.IntervalUtils$;

/**
 * The option `watermark` of a table, `column DELAY OF interval`.
 *
 * @param column the column of event times, without backticks
 * @param delay the interval in Spark's notation
 */
record Watermark(String column, String delay) {
  private static final Pattern FORM =
      Pattern.compile("`?(.+?)`?\\s+DELAY\\s+OF\\s+(.+)", Pattern.CASE_INSENSITIVE);

  /**
   * Returns the watermark in a text of the form above, or null for any other text. Does not check
   * the interval.
   */
  static Watermark parse(String text) {
    Matcher matcher = FORM.matcher(text.trim());
    return matcher.matches()
        ? new Watermark(matcher.group(1).replace("``", "`"), matcher.group(2))
        : null;
  }

  /** Returns the delay in milliseconds. Throws Spark's error for an invalid interval. */
  long delayMillis() {
    return EventTimeWatermark$.MODULE$.getDelayMs(IntervalUtils$.MODULE$.fromIntervalString(delay));
  }
}
