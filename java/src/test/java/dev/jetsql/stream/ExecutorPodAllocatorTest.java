package dev.jetsql.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.jetsql.common.Json;
import io.fabric8.kubernetes.api.model.StatusBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.cluster.k8s.ExecutorPodsSnapshotsStore;
import org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder;
import org.apache.spark.util.Clock;
import org.junit.jupiter.api.Test;

class ExecutorPodAllocatorTest {
  private static final String QUOTA = "pods \"exec-3\" is forbidden: exceeded quota: few";

  @Test
  void refusalLastsUntilTheNextSuccess() throws Exception {
    ExecutorPodAllocator.keepRefusal(() -> {});
    assertEquals("", ExecutorPodAllocator.refusal());
    var status = new StatusBuilder().withCode(403).withMessage(QUOTA).build();
    refuse(new KubernetesClientException("Failure executing: POST", 403, status));
    var first = Json.MAPPER.readTree(ExecutorPodAllocator.refusal());
    assertEquals(QUOTA, first.get("reason").asText());
    refuse(new KubernetesClientException("connection refused"));
    var second = Json.MAPPER.readTree(ExecutorPodAllocator.refusal());
    assertEquals("connection refused", second.get("reason").asText());
    assertEquals(first.get("since"), second.get("since"));
    var logged = new KubernetesClientException("timeout");
    ExecutorPodAllocator.keepRefusal(() -> ExecutorPodAllocator.refuse(logged));
    var third = Json.MAPPER.readTree(ExecutorPodAllocator.refusal());
    assertEquals("timeout", third.get("reason").asText());
    assertEquals(first.get("since"), third.get("since"));
    ExecutorPodAllocator.keepRefusal(() -> {});
    assertEquals("", ExecutorPodAllocator.refusal());
  }

  private static void refuse(KubernetesClientException error) {
    Runnable allocation =
        () -> {
          throw error;
        };
    assertThrows(
        KubernetesClientException.class, () -> ExecutorPodAllocator.keepRefusal(allocation));
  }

  @Test
  void sparkFindsTheConstructor() throws Exception {
    Class<?>[] parameters = {
      SparkConf.class,
      SecurityManager.class,
      KubernetesExecutorBuilder.class,
      KubernetesClient.class,
      ExecutorPodsSnapshotsStore.class,
      Clock.class
    };
    assertEquals(6, ExecutorPodAllocator.class.getConstructor(parameters).getParameterCount());
  }
}
