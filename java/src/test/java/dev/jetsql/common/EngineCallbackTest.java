package dev.jetsql.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class EngineCallbackTest {
  /** An engine whose functions note their arguments and return one response. */
  private static final class Engine implements EngineFunctions {
    final List<String> calls = new ArrayList<>();
    final List<String> numbers = new ArrayList<>();
    String response;

    @Override
    public Object call(
        String function,
        String number,
        Object session,
        String user,
        String origin,
        String request) {
      calls.add(String.join("|", function, String.valueOf(session), origin, request));
      numbers.add(number);
      return response;
    }

    @Override
    public void cancel(String number) {}
  }

  private final Engine engine = new Engine();

  @AfterEach
  void disconnect() {
    EngineCallback.connect(null);
  }

  @Test
  void aFunctionIsCalledByItsName() {
    engine.response = "{\"job\": \"1\"}";
    EngineCallback.connect(engine);
    var response = EngineCallback.FIND_STATE.ask("session", Map.of("job", "totals"));
    assertEquals("1", response.get("job").asText());
    assertEquals(List.of("find_state|session|spark.sql |{\"job\":\"totals\"}"), engine.calls);
  }

  @Test
  void aFunctionCanReturnNothing() {
    EngineCallback.connect(engine);
    assertNull(EngineCallback.DESCRIBE.ask(null, Map.of("text", "SELECT 1")));
  }

  @Test
  void aCallWithoutAnEngineFails() {
    assertFalse(EngineCallback.isConnected());
    var error =
        assertThrows(
            JetSqlException.class, () -> EngineCallback.ROWS.ask(null, Map.of("name", "jobs")));
    assertTrue(error.getMessage().contains("closed"));
  }

  @Test
  void onlyCancellableCallsHaveANumber() {
    EngineCallback.connect(engine);
    EngineCallback.EXECUTE.run("session", Map.of("text", "a"));
    EngineCallback.EXECUTE.run("session", Map.of("text", "b"));
    EngineCallback.ROWS.ask("session", Map.of("name", "jobs"));
    assertNotEquals(engine.numbers.get(0), engine.numbers.get(1));
    assertNull(engine.numbers.get(2));
  }
}
