package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;
import static scala.jdk.javaapi.CollectionConverters.asScala;

import dev.jetsql.common.JobContext;
import dev.jetsql.versions.CaseClasses;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.PartialFunction;
import scala.collection.immutable.Map$;

/**
 * Limits of the data that a streaming select reads per batch, for sources that support a limit and
 * tables that do not set one. Without limits, the first batch would contain all existing rows, and
 * the client would wait for all of them.
 */
final class SourceRateLimits {
  private static final String FILE_BYTES = "16777216";
  private static final String KAFKA_RECORDS = "50000";

  private SourceRateLimits() {}

  /** Returns the plan with limits on its file and Kafka sources. */
  static LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(PartialFunction.fromFunction(SourceRateLimits::limited));
  }

  private static LogicalPlan limited(LogicalPlan node) {
    if (node instanceof StreamingRelation files) return limitedFiles(files);
    if (node instanceof StreamingRelationV2 topic && topic.sourceName().equalsIgnoreCase("kafka")) {
      return limitedTopic(topic);
    }
    return node;
  }

  private static LogicalPlan limitedTopic(StreamingRelationV2 topic) {
    var options =
        new CaseInsensitiveStringMap(kafkaOptions(topic.extraOptions().asCaseSensitiveMap()));
    return CaseClasses.copy(topic, Map.of("extraOptions", options));
  }

  private static LogicalPlan limitedFiles(StreamingRelation relation) {
    var source = relation.dataSource();
    var options = Map$.MODULE$.from(asScala(fileOptions(asJava(source.options()))));
    var limited = CaseClasses.copy(source, Map.of("options", options));
    return CaseClasses.copy(relation, Map.of("dataSource", limited));
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
