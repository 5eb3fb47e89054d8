package dev.jetsql.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.rpc.RpcCallContext;
import org.junit.jupiter.api.Test;

class EarlyBatchEndCoordinatorTest {
  private final EarlyBatchEndCoordinator coordinator = new EarlyBatchEndCoordinator(null);
  private final List<Object> replies = new ArrayList<>();
  private final RpcCallContext request =
      (RpcCallContext)
          Proxy.newProxyInstance(
              getClass().getClassLoader(),
              new Class<?>[] {RpcCallContext.class},
              (proxy, method, arguments) -> {
                assertEquals("reply", method.getName());
                replies.add(arguments[0]);
                return null;
              });

  private void send(String run) {
    coordinator.receiveAndReply(request).apply(run);
  }

  @Test
  void repliesToAllExecutorsWhenTheBatchIsToEnd() {
    coordinator.register("run");
    send("run");
    send("run");
    assertEquals(List.of(), replies);
    coordinator.endBatches("run");
    assertEquals(List.of(true, true), replies);
  }

  @Test
  void repliesImmediatelyForBatchesThatBeginLater() {
    coordinator.register("run");
    coordinator.endBatches("run");
    send("run");
    assertEquals(List.of(true), replies);
  }

  @Test
  void keepsRunsApart() {
    coordinator.register("run");
    coordinator.register("other");
    send("run");
    coordinator.endBatches("other");
    assertEquals(List.of(), replies);
  }

  @Test
  void repliesImmediatelyForAnUnknownRun() {
    send("unknown");
    coordinator.endBatches("unknown");
    assertEquals(List.of(true), replies);
  }

  @Test
  void leavesOtherMessagesToSpark() {
    var function = coordinator.receiveAndReply(request);
    assertTrue(function.isDefinedAt("run"));
    assertFalse(function.isDefinedAt(1));
    assertEquals("unsupported", function.<Object, Object>applyOrElse(1, message -> "unsupported"));
    assertEquals(List.of(), replies);
  }
}
