package dev.jetsql.stream;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.jetsql.common.ActiveSession;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Json;
import dev.jetsql.common.Principals;
import dev.jetsql.kafka.KafkaTopicChecks;
import dev.jetsql.rights.RunningRead;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.slf4j.LoggerFactory;

/**
 * Streaming selects: SELECT statements over a stream whose rows a client reads while they arrive.
 * Each is a streaming query that passes its batches, one by one, to the thread that reads its
 * {@link StreamingCursor}. Spark plans the next batch after the reader has processed the previous
 * one, so that a slow reader delays the query and no rows are buffered.
 */
public final class StreamingSelects {
  private static final Set<StreamingCursor> OPEN = ConcurrentHashMap.newKeySet();
  private static volatile Settings settings = new Settings(null, Map.of(), 0);

  private StreamingSelects() {}

  /**
   * The settings of streaming selects.
   *
   * @param folder the URI of the folder for their checkpoints
   * @param confs Spark's settings for their sessions
   * @param limitedMillis the time limit of a select that is not live
   */
  private record Settings(String folder, Map<String, String> confs, long limitedMillis) {}

  /**
   * Sets up streaming selects, and deletes the folder of their checkpoints.
   *
   * @param folder the URI of the folder for their checkpoints
   * @param confs Spark's settings for their sessions, as a JSON object
   * @param limitedMillis the time limit of a select that is not live
   */
  public static void connect(SparkSession session, String folder, String confs, long limitedMillis)
      throws IOException {
    settings = new Settings(folder, parse(confs), limitedMillis);
    delete(session, folder);
  }

  private static Map<String, String> parse(String confs) throws JsonProcessingException {
    Map<String, String> parsed = new HashMap<>();
    Json.MAPPER
        .readTree(confs)
        .properties()
        .forEach(conf -> parsed.put(conf.getKey(), conf.getValue().asText()));
    return parsed;
  }

  /**
   * Creates a cursor for the rows of a statement. Throws Spark's error for a query that it cannot
   * run over a stream, and STREAM_WITHOUT_LIMIT for a query without a limit that is not live.
   *
   * @param live whether it may run without end
   */
  public static StreamingCursor create(Dataset<?> rows, boolean live) {
    SparkSession session = sessionOfRun(rows.sparkSession());
    var select = plan(session, rows.queryExecution().analyzed(), live);
    KafkaTopicChecks.checkStreams(select.plan());
    Settings currentSettings = settings;
    currentSettings.confs().forEach(session.conf()::set);
    if (select.isUnchecked())
      session.conf().set("spark.sql.streaming.unsupportedOperationCheck", "false");
    var read = new RunningRead(rows.sparkSession(), rows.queryExecution().analyzed());
    var millis = live ? -1L : currentSettings.limitedMillis();
    return new StreamingCursor(session, select, currentSettings.folder(), millis, read);
  }

  /** Plans a query in the session of its run: rewritten operators use the active one. */
  private static StreamingSelectPlan plan(SparkSession session, LogicalPlan query, boolean live) {
    return ActiveSession.call(session, () -> StreamingSelectPlan.of(session, query, live));
  }

  /**
   * Returns a copy of a session for the batches of a query that was checked with the rights of the
   * session. As the run of a job, it is one of the engine: Spark makes plans for batches that no
   * user may write.
   */
  private static SparkSession sessionOfRun(SparkSession client) {
    var user = Principals.of(client);
    var session = client.cloneSession();
    if (user == null) return session;
    session.conf().set(JobContext.OWNER_CONF, user);
    Principals.setSystem(session);
    return session;
  }

  /** Closes all cursors. Their readers receive the error of a closed engine. */
  public static void closeAll() {
    for (StreamingCursor cursor : OPEN) {
      try {
        cursor.close();
      } catch (Exception error) { // the other cursors and the jobs must end as well
        LoggerFactory.getLogger(StreamingSelects.class)
            .warn("Cannot close a streaming select", error);
      }
    }
  }

  /** Registers a starting cursor for `closeAll`. */
  static void opened(StreamingCursor cursor) {
    OPEN.add(cursor);
  }

  /** Unregisters a cursor, and returns whether it was registered. */
  static boolean closed(StreamingCursor cursor) {
    return OPEN.remove(cursor);
  }

  /** Deletes a folder of checkpoints. */
  static void delete(SparkSession session, String folder) throws IOException {
    var path = new Path(folder);
    path.getFileSystem(session.sparkContext().hadoopConfiguration()).delete(path, true);
  }
}
