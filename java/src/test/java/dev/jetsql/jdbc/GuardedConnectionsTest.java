package dev.jetsql.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GuardedConnectionsTest {
  private static final long LONG = 60_000;

  private final List<String> calls = new CopyOnWriteArrayList<>();

  private Connection connection() {
    return (Connection)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {Connection.class},
            (proxy, method, args) -> {
              calls.add(method.getName());
              return null;
            });
  }

  private static GuardedConnections.Opening refusal(String state) {
    return () -> {
      throw new SQLException("No.", state);
    };
  }

  @Test
  void abortsConnectionsToADatabaseThatDoesNotAnswer() throws Exception {
    var never = new CountDownLatch(1);
    GuardedConnections.add(
        connection(),
        "jdbc:a",
        () -> {
          never.await();
          return null;
        });
    Thread.sleep(5);
    GuardedConnections.check(1);
    assertEquals(List.of("abort"), calls);
    never.countDown();
  }

  @Test
  void keepsConnectionsThatAreNewOrClosed() throws Exception {
    var guarded = GuardedConnections.add(connection(), "jdbc:b", refusal("08001"));
    GuardedConnections.check(LONG);
    guarded.release();
    Thread.sleep(5);
    GuardedConnections.check(1);
    assertEquals(List.of(), calls);
  }

  @ParameterizedTest
  @ValueSource(strings = {"08001", "08006", "57P03"})
  void findsADatabaseThatIsAway(String state) throws Exception {
    assertTrue(GuardedConnections.isAway(refusal(state), LONG));
  }

  @ParameterizedTest
  @ValueSource(strings = {"28P01", "53300", "08004", ""})
  void findsADatabaseThatRefusesALogin(String state) throws Exception {
    assertFalse(GuardedConnections.isAway(refusal(state), LONG));
  }

  @Test
  void findsADatabaseThatAnswers() throws Exception {
    assertFalse(GuardedConnections.isAway(this::connection, LONG));
    assertEquals(List.of("close"), calls);
  }
}
