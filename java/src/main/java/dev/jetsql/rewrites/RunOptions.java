package dev.jetsql.rewrites;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes;
import org.apache.spark.sql.streaming.OutputMode;

/**
 * How a streaming query may run.
 *
 * @param modes the output modes; the first possible one decides how the query is rewritten
 * @param stateTtlMillis the time to live of state that no watermark removes; 0 for ever
 * @param keys the columns by which rows of the table are updated; empty if they are not
 * @param nullIsKey whether NULL is a key of a row
 */
public record RunOptions(
    List<OutputMode> modes, long stateTtlMillis, List<String> keys, boolean nullIsKey) {
  /** Returns the options for the names of output modes, which are separated by commas. */
  public static RunOptions of(String modes, long stateTtlMillis) {
    return new RunOptions(
        Arrays.stream(modes.split(",")).map(InternalOutputModes::apply).toList(),
        stateTtlMillis,
        List.of(),
        false);
  }

  public static RunOptions of(OutputMode mode) {
    return new RunOptions(List.of(mode), 0, List.of(), false);
  }

  /** Returns the options for a table with key columns. */
  public RunOptions withKeys(List<String> keys, boolean nullIsKey) {
    return new RunOptions(modes, stateTtlMillis, keys, nullIsKey);
  }
}
