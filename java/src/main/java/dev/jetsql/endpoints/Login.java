package dev.jetsql.endpoints;

import dev.jetsql.common.EngineCallback;
import java.util.HashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * The answer of the engine (Python) to a login. It checks tokens for all endpoints.
 *
 * @param user the user of the token; an empty text without a valid one
 * @param key the name of the login, which `EndedLogins` has when it ends
 * @param token the id of the token
 * @param refusal the reason of a refusal, a sentence; an empty text for a login that succeeds
 * @param millis the time before a refusal may be answered, in milliseconds
 * @param hasUsers whether the engine has users other than the built-in one
 */
record Login(String user, String key, String token, String refusal, long millis, boolean hasUsers) {
  /**
   * Asks the engine. Throws its error.
   *
   * @param endpoint a word of `Endpoint` in Python
   * @param name the user whom the client names; null if each of its messages does
   */
  static Login of(String endpoint, String name, String token, String address) {
    var request = new HashMap<String, String>();
    request.put("endpoint", endpoint);
    request.put("name", name);
    request.put("token", token);
    request.put("address", address);
    var answer = EngineCallback.LOG_IN.ask(null, request);
    return new Login(
        answer.get("user").textValue(),
        answer.get("login").textValue(),
        answer.get("token").textValue(),
        answer.get("refusal").textValue(),
        answer.get("millis").longValue(),
        answer.get("has_users").booleanValue());
  }

  /** Returns whether the token is valid, also if its user may not use the endpoint. */
  boolean hasUser() {
    return !user.isEmpty();
  }

  boolean isRefused() {
    return !refusal.isEmpty();
  }

  /** Returns what runs a task when a refusal may be answered. */
  Executor whenDue() {
    return CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS);
  }
}
