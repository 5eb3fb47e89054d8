package dev.jetsql.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.deploy.k8s.SparkPod;
import org.junit.jupiter.api.Test;

class ExecutorPodNamesTest {
  @Test
  void executorGetsTheNamesOfItsPodAndNode() {
    var container = new ContainerBuilder().withName("executor").build();
    var pod = new PodBuilder().withNewMetadata().withName("exec-1").endMetadata().build();
    var configured = new ExecutorPodNames().configurePod(new SparkPod(pod, container));
    assertEquals(pod, configured.pod());
    assertEquals("executor", configured.container().getName());
    var fields =
        configured.container().getEnv().stream()
            .filter(variable -> variable.getValueFrom() != null)
            .collect(
                Collectors.toMap(
                    variable -> variable.getName(),
                    variable -> variable.getValueFrom().getFieldRef().getFieldPath()));
    assertEquals(
        Map.of(
            "SPARK_EXECUTOR_ATTRIBUTE_POD", "metadata.name",
            "SPARK_EXECUTOR_ATTRIBUTE_NODE", "spec.nodeName"),
        fields);
  }
}
