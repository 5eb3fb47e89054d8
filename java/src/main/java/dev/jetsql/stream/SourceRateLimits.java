package dev.jetsql.stream;

import dev.jetsql.common.JobContext;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import scala.PartialFunction;

/**
 * Limits of the data that a streaming select reads per batch, for sources that support a limit and
 * tables that do not set one. Without limits, the first batch would contain all existing rows, and
 * the client would wait for all of them.
 */
final class SourceRateLimits {
  private static final String FILE_BYTES = "16777216";
  private static final String KAFKA_RECORDS = "50000";

  private SourceRateLimits() {}

  /**
   * Returns the plan with limits on its file and Kafka sources. A source of files plans its batches
   * in the session of the run.
   */
  static LogicalPlan apply(SparkSession session, LogicalPlan plan) {
    return SourceOptions.change(plan, SourceRateLimits::kafkaOptions, SourceRateLimits::fileOptions)
        .transformDown(
            PartialFunction.fromFunction(
                node ->
                    node instanceof StreamingRelation files
                        ? SourceOptions.in(session, files)
                        : node));
  }

  /** Returns the options of a Kafka source, with a limit if they have none. */
  static Map<String, String> kafkaOptions(Map<String, String> options) {
    var limited = new HashMap<>(options);
    if (!has(options, "maxOffsetsPerTrigger")) limited.put("maxOffsetsPerTrigger", KAFKA_RECORDS);
    return limited;
  }

  /**
   * Returns the options of a file source, with a limit if they have none, and without an age limit,
   * as in jobs.
   */
  static Map<String, String> fileOptions(Map<String, String> options) {
    var limited = new HashMap<>(options);
    if (!has(options, "maxFilesPerTrigger") && !has(options, "maxBytesPerTrigger")) {
      limited.put("maxBytesPerTrigger", FILE_BYTES);
    }
    if (!has(options, "maxFileAge")) limited.put("maxFileAge", JobContext.ANY_AGE);
    return limited;
  }

  private static boolean has(Map<String, String> options, String name) {
    return options.keySet().stream().anyMatch(name::equalsIgnoreCase);
  }
}
