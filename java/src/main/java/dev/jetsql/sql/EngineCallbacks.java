package dev.jetsql.sql;

import dev.jetsql.catalog.JobState;
import dev.jetsql.catalog.LiveTables;
import dev.jetsql.catalog.TableUsers;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.functions.PythonFunctions;
import dev.jetsql.kafka.KafkaTopicChecks;
import dev.jetsql.parser.EngineStatements;
import dev.jetsql.stream.ClusterExecutors;
import dev.jetsql.watchdog.ResourceWatchdog;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/** The functions of the open engine (Python) that Java calls. */
public final class EngineCallbacks {
  private EngineCallbacks() {}

  /**
   * Connects the engine's functions.
   *
   * @param filter a regular expression that matches the beginning of every JetSQL statement
   * @param cancel see `PythonCalls`
   * @param rows see `LiveTables`
   * @param topicCheck see `KafkaTopicChecks`
   * @param findUsers see `TableUsers`
   * @param dropFunction see `PythonFunctions`
   * @param findState see `JobState`
   * @param describe see `EngineStatements`, as for `execute` and `bind`
   */
  public static void connect(
      String filter,
      BiFunction<Object, String, Object> describe,
      BiFunction<Object, String, Object> execute,
      Consumer<String> cancel,
      BiFunction<Object, String, Object> rows,
      BiFunction<Object, String, Object> topicCheck,
      BiFunction<Object, String, Object> findUsers,
      BiFunction<Object, String, Object> dropFunction,
      BiFunction<Object, String, Object> findState,
      BiFunction<Object, String, Object> bind) {
    EngineStatements.connect(filter, describe, execute, bind);
    PythonCalls.connect(cancel);
    LiveTables.connect(rows);
    KafkaTopicChecks.connect(topicCheck);
    TableUsers.connect(findUsers);
    PythonFunctions.connect(dropFunction);
    JobState.connect(findState);
  }

  /** Disconnects the engine: Spark handles all statements from now on. */
  public static void disconnect() {
    EngineStatements.disconnect();
    PythonCalls.connect(null);
    LiveTables.connect(null);
    KafkaTopicChecks.connect(null);
    TableUsers.connect(null);
    PythonFunctions.connect(null);
    JobState.connect(null);
    ClusterExecutors.unwatch();
    ResourceWatchdog.stop();
  }
}
