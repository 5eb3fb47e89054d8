package dev.jetsql.stream;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.Objects;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.LogEntry;
import org.apache.spark.scheduler.cluster.k8s.ExecutorPodsAllocator;
import org.apache.spark.scheduler.cluster.k8s.ExecutorPodsSnapshot;
import org.apache.spark.scheduler.cluster.k8s.ExecutorPodsSnapshotsStore;
import org.apache.spark.scheduler.cluster.k8s.KubernetesClusterSchedulerBackend;
import org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder;
import org.apache.spark.util.Clock;
import scala.collection.immutable.Seq;

/**
 * Spark's allocator of pods for executors, which keeps why the API server refuses to create one.
 *
 * <p>Spark tries again, and there is no pod that could show the reason. Spark 4.1 throws the
 * client's error, and later versions only log it.
 */
public final class ExecutorPodAllocator extends ExecutorPodsAllocator {
  private static volatile Refusals refusals;

  /**
   * Refusals that have not been followed by a success.
   *
   * @param since milliseconds since 1970 of the first one
   * @param count their number
   * @param reason the reason for the last one
   */
  private record Refusals(long since, int count, String reason) {}

  /** Creates it, as Spark does. */
  public ExecutorPodAllocator(
      SparkConf conf,
      SecurityManager securityManager,
      KubernetesExecutorBuilder builder,
      KubernetesClient client,
      ExecutorPodsSnapshotsStore snapshots,
      Clock clock) {
    super(conf, securityManager, builder, client, snapshots, clock);
  }

  /** Returns the refusal as JSON, {"since": milliseconds, "reason": text}, or an empty text. */
  public static String refusal() {
    Refusals current = refusals;
    if (current == null) return "";
    ObjectNode json = Json.MAPPER.createObjectNode();
    return json.put("since", current.since()).put("reason", current.reason()).toString();
  }

  @Override
  public void onNewSnapshots(
      String application,
      KubernetesClusterSchedulerBackend backend,
      Seq<ExecutorPodsSnapshot> snapshots) {
    keepRefusal(() -> super.onNewSnapshots(application, backend, snapshots));
  }

  @Override
  public void logError(LogEntry entry, Throwable error) {
    if (error instanceof KubernetesClientException refused) refuse(refused);
    super.logError(entry, error);
  }

  /** Runs an allocation of pods, and forgets an earlier refusal if there is none during it. */
  static void keepRefusal(Runnable allocation) {
    Refusals earlier = refusals;
    try {
      allocation.run();
    } catch (KubernetesClientException e) {
      refuse(e);
      throw e;
    }
    if (Objects.equals(refusals, earlier)) refusals = null;
  }

  /** Keeps why the API server refuses to create a pod, since the first refusal. */
  static void refuse(KubernetesClientException error) {
    Refusals earlier = refusals;
    long since = earlier == null ? System.currentTimeMillis() : earlier.since();
    int count = earlier == null ? 1 : earlier.count() + 1;
    refusals = new Refusals(since, count, reason(error));
  }

  /** Returns the message of the API server, or that of the client if there was no response. */
  private static String reason(KubernetesClientException error) {
    var status = error.getStatus();
    boolean hasMessage = status != null && status.getMessage() != null;
    return hasMessage ? status.getMessage() : error.getMessage();
  }
}
