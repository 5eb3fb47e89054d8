package dev.jetsql.common;

/** The functions of the open engine, which Python implements. `EngineCallback` has their names. */
public interface EngineFunctions {
  /**
   * Calls a function and returns its response, see `PythonResponses`.
   *
   * @param number by which `cancel` cancels the call; null if it cannot be cancelled
   * @param session the Spark session of the statement, or null
   * @param user the user of the session, see `Principals`; null if it has none, or is the engine's
   * @param origin the origin of the statement, see `Callers`
   * @param request the arguments of the function: a JSON object
   */
  Object call(
      String function, String number, Object session, String user, String origin, String request);

  /** Cancels a call if it still runs. */
  void cancel(String number);
}
