package dev.jetsql.sql;

import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.EngineFunctions;
import dev.jetsql.functions.PythonFunctions;
import dev.jetsql.parser.EngineStatements;
import dev.jetsql.stream.ClusterExecutors;
import dev.jetsql.watchdog.ResourceWatchdog;

/** The connection of this JVM to the open engine (Python). */
public final class EngineConnection {
  private EngineConnection() {}

  /**
   * Connects the engine.
   *
   * @param filter a regular expression that matches the beginning of every JetSQL statement
   */
  public static void connect(String filter, EngineFunctions functions) {
    EngineCallback.connect(functions);
    EngineStatements.connect(filter);
  }

  /** Disconnects the engine: Spark handles all statements from now on. */
  public static void disconnect() {
    EngineStatements.disconnect();
    EngineCallback.connect(null);
    PythonFunctions.clear();
    ClusterExecutors.unwatch();
    ResourceWatchdog.stop();
  }
}
