package dev.jetsql.kafka.transactions;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.versions.SparkCalls;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The parts of a batch. The name of a part is its input: the partition of a topic, or the partition
 * of a shuffle and the shuffle's number in the plan. The number of the task would not identify a
 * part: when Spark repeats a batch, it may assign Kafka's partitions to the tasks in another order.
 */
final class PartitionManifest {
  private static final int LONGEST_NAME = 200;
  private static final int DIGEST_BYTES = 16;

  /** The number in the plan of each RDD without dependencies and each ShuffleDependency. */
  private final IdentityHashMap<Object, Integer> leaves = new IdentityHashMap<>();

  private final Set<RDD<?>> visited = Collections.newSetFromMap(new IdentityHashMap<>());

  /**
   * By RDD and partition: the position of the partition's offset range among the ranges of the same
   * topic-partition.
   */
  private final IdentityHashMap<RDD<?>, Map<Integer, Integer>> ordinals = new IdentityHashMap<>();

  private boolean repeatable = true;

  /** The inputs of one task, as names, and as a text with offsets. */
  private static final class Inputs {
    private final List<String> names = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();

    void add(String name) {
      names.add(name);
      text.append(text.length() == 0 ? "" : ", ").append(name);
    }
  }

  private PartitionManifest() {}

  /**
   * Returns a JSON array of {"name", "reads"} in the order of the tasks, where "reads" is the text
   * with offsets. Returns null if the batch has a source that Spark may split into other parts when
   * it repeats the batch.
   */
  static String of(RDD<?> rows) throws NoSuchAlgorithmException {
    PartitionManifest manifest = new PartitionManifest();
    manifest.number(rows);
    if (!manifest.repeatable) return null;
    ArrayNode parts = JsonNodeFactory.instance.arrayNode();
    Map<String, Integer> uses = new HashMap<>();
    int count = rows.getNumPartitions();
    for (int i = 0; i < count; i++) {
      Inputs inputs = new Inputs();
      manifest.read(rows, i, inputs);
      if (inputs.names.isEmpty()) return null;
      String name = joined(inputs.names);
      int earlierUses = uses.merge(name, 1, Integer::sum) - 1;
      // Several branches of a union may read the same shuffle. They are numbered in the order of
      // the plan.
      if (earlierUses > 0) name = name + "." + earlierUses;
      ObjectNode part = parts.addObject();
      part.put("name", name);
      part.put("reads", inputs.text.toString());
    }
    return parts.toString();
  }

  private static String joined(List<String> names) throws NoSuchAlgorithmException {
    String text = String.join("+", names);
    if (text.length() <= LONGEST_NAME) return text;
    byte[] digest =
        MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    return "h" + HexFormat.of().formatHex(digest, 0, DIGEST_BYTES);
  }

  /**
   * Numbers the sources of an RDD in the order of the plan, which does not depend on the order of
   * the partitions.
   */
  private void number(RDD<?> rdd) {
    if (!visited.add(rdd)) return;
    if (rdd.dependencies().isEmpty()) {
      if (rdd.getNumPartitions() == 0) return;
      leaves.put(rdd, leaves.size());
      repeatable = repeatable && readsKafka(rdd);
      return;
    }
    for (Dependency<?> dependency : CollectionConverters.asJava(rdd.dependencies())) {
      if (!(dependency instanceof ShuffleDependency)) number(dependency.rdd());
      else if (!leaves.containsKey(dependency)) leaves.put(dependency, leaves.size());
    }
  }

  /**
   * Returns whether all partitions of an RDD read Kafka, and records the positions of their ranges.
   */
  private boolean readsKafka(RDD<?> rdd) {
    Partition[] partitions = rdd.partitions();
    Map<TopicPartition, TreeMap<Long, Integer>> indices =
        new HashMap<>(); // by topic-partition and offset
    for (int i = 0; i < partitions.length; i++) {
      KafkaOffsetRange range = range(partitions[i]);
      if (range == null) return false;
      indices
          .computeIfAbsent(range.topicPartition(), key -> new TreeMap<>())
          .put(range.fromOffset(), i);
    }
    Map<Integer, Integer> positions = new HashMap<>();
    for (TreeMap<Long, Integer> sorted : indices.values()) {
      int position = 0;
      for (Integer index : sorted.values()) positions.put(index, position++);
    }
    ordinals.put(rdd, positions);
    return true;
  }

  /** Returns the offset range that a partition reads, or null if it does not read Kafka. */
  private static KafkaOffsetRange range(Partition partition) {
    return SparkCalls.input(partition) instanceof KafkaBatchInputPartition input
        ? input.offsetRange()
        : null;
  }

  private void read(RDD<?> rdd, int index, Inputs inputs) {
    if (rdd.dependencies().isEmpty()) {
      readTopic(rdd, index, inputs);
      return;
    }
    for (Dependency<?> dependency : CollectionConverters.asJava(rdd.dependencies())) {
      if (dependency instanceof ShuffleDependency<?, ?, ?> shuffle) {
        inputs.add(
            "s" + leaves.get(shuffle) + "-" + index + "of" + shuffle.partitioner().numPartitions());
      } else {
        var parents = ((NarrowDependency<?>) dependency).getParents(index);
        for (Object parent : CollectionConverters.asJava(parents))
          read(dependency.rdd(), (Integer) parent, inputs);
      }
    }
  }

  private void readTopic(RDD<?> rdd, int index, Inputs inputs) {
    KafkaOffsetRange range = range(rdd.partitions()[index]);
    int ordinal = ordinals.get(rdd).get(index);
    String name = "k" + leaves.get(rdd) + "-" + range.topic() + "-" + range.partition();
    inputs.add(ordinal == 0 ? name : name + "-" + ordinal);
    inputs.text.append(" ").append(range.fromOffset()).append("-").append(range.untilOffset());
  }
}
