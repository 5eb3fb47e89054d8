package dev.jetsql.stream;

import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.EnvVarBuilder;
import org.apache.spark.deploy.k8s.SparkPod;
import org.apache.spark.deploy.k8s.features.KubernetesFeatureConfigStep;

/**
 * Gives an executor on Kubernetes the names of its pod and of its node.
 *
 * <p>Spark takes the attributes of an executor from variables with a prefix, and keeps them also
 * when the executor and its pod are gone.
 */
public final class ExecutorPodNames implements KubernetesFeatureConfigStep {
  static final String POD = "POD";
  static final String NODE = "NODE";
  private static final String PREFIX = "SPARK_EXECUTOR_ATTRIBUTE_";

  @Override
  public SparkPod configurePod(SparkPod pod) {
    var container =
        new ContainerBuilder(pod.container())
            .addToEnv(variable(POD, "metadata.name"), variable(NODE, "spec.nodeName"))
            .build();
    return new SparkPod(pod.pod(), container);
  }

  /** Returns a variable with a field of the pod, which Kubernetes inserts. */
  private static EnvVar variable(String attribute, String field) {
    return new EnvVarBuilder()
        .withName(PREFIX + attribute)
        .withNewValueFrom()
        .withNewFieldRef()
        .withFieldPath(field)
        .endFieldRef()
        .endValueFrom()
        .build();
  }
}
