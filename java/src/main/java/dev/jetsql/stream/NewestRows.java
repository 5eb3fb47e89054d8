package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;

/**
 * The query of a job over the newest rows of its sources in small batches, for the rehearsal of a
 * standby: the messages of the last hour, and the newest files. Its results are not those of the
 * job.
 */
public final class NewestRows {
  private static final long TOPIC_MILLIS = 3_600_000L;
  private static final String TOPIC_ROWS = "500";
  private static final Set<String> TOPIC_RANGES =
      Set.of(
          "startingoffsets",
          "startingtimestamp",
          "startingoffsetsbytimestamp",
          "startingoffsetsbytimestampstrategy",
          "minoffsetspertrigger",
          "maxoffsetspertrigger");
  private static final Set<String> FILE_LIMITS =
      Set.of("maxfilespertrigger", "maxbytespertrigger", "latestfirst");

  private NewestRows() {}

  /** Returns the query over newest rows; null if it has other sources than topics and files. */
  public static LogicalPlan of(LogicalPlan query) {
    for (LogicalPlan leaf : asJava(query.collectLeaves())) {
      if (!leaf.isStreaming()) continue;
      if (!(leaf instanceof StreamingRelation) && !SourceOptions.isTopic(leaf)) return null;
    }
    long start = System.currentTimeMillis() - TOPIC_MILLIS;
    return SourceOptions.change(
        query, options -> topicOptions(options, start), NewestRows::fileOptions);
  }

  /** Returns the options of a topic from a time on, in milliseconds since the epoch. */
  static Map<String, String> topicOptions(Map<String, String> options, long start) {
    var newest = without(options, TOPIC_RANGES);
    newest.put("startingTimestamp", Long.toString(start));
    newest.put("startingOffsetsByTimestampStrategy", "latest");
    newest.put("maxOffsetsPerTrigger", TOPIC_ROWS);
    return newest;
  }

  /** Returns the options of a folder, one file in each batch, the newest first. */
  static Map<String, String> fileOptions(Map<String, String> options) {
    var newest = without(options, FILE_LIMITS);
    newest.put("maxFilesPerTrigger", "1");
    newest.put("latestFirst", "true");
    return newest;
  }

  private static Map<String, String> without(Map<String, String> options, Set<String> names) {
    var kept = new HashMap<>(options);
    kept.keySet().removeIf(name -> names.contains(name.toLowerCase(Locale.ROOT)));
    return kept;
  }
}
