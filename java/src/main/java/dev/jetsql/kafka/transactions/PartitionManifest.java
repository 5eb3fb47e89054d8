package dev.jetsql.kafka.transactions;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
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
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The parts of a batch, each named by what it reads: the partition of a topic, or the partition of
 * a shuffle and the shuffle's number in the plan. The number of a task is no name: when Spark
 * repeats a batch, it may assign Kafka's partitions to the tasks in another order.
 */
final class PartitionManifest {
  private static final int LONGEST_NAME = 200;
  private static final int DIGEST_BYTES = 16;

  /** The number in the plan of each RDD that reads a source, and of each ShuffleDependency. */
  private final IdentityHashMap<Object, Integer> leaves = new IdentityHashMap<>();

  private final Set<RDD<?>> seen = Collections.newSetFromMap(new IdentityHashMap<>());

  /**
   * For each RDD that reads Kafka: by partition, the position of its range among those of the same
   * topic-partition.
   */
  private final IdentityHashMap<RDD<?>, Map<Integer, Integer>> ordinals = new IdentityHashMap<>();

  private boolean repeatable = true;

  /** The names of what one task reads, and the same with offsets as text. */
  private static final class Reads {
    private final List<String> names = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();

    void add(String name) {
      names.add(name);
      text.append(text.length() == 0 ? "" : ", ").append(name);
    }
  }

  private PartitionManifest() {}

  /**
   * Return a JSON array of {"name", "reads"} in the order of the tasks, where "reads" has the
   * offsets. Return null if some rows come from a source that may be split into other parts the
   * next time.
   */
  static String of(RDD<?> rows) throws NoSuchAlgorithmException {
    PartitionManifest manifest = new PartitionManifest();
    manifest.number(rows);
    if (!manifest.repeatable) return null;
    ArrayNode parts = JsonNodeFactory.instance.arrayNode();
    Map<String, Integer> uses = new HashMap<>();
    int count = rows.getNumPartitions();
    for (int i = 0; i < count; i++) {
      Reads reads = new Reads();
      manifest.read(rows, i, reads);
      if (reads.names.isEmpty()) return null;
      String name = joined(reads.names);
      int before = uses.merge(name, 1, Integer::sum) - 1;
      // Several branches of a union may read the same shuffle. Their order is the plan's.
      if (before > 0) name = name + "." + before;
      ObjectNode part = parts.addObject();
      part.put("name", name);
      part.put("reads", reads.text.toString());
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
   * Number the sources of the rows in the order of the plan, which does not depend on the order of
   * the partitions.
   */
  private void number(RDD<?> rdd) {
    if (!seen.add(rdd)) return;
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

  /** Return the range of offsets that a partition reads, or null if it is none of Kafka's. */
  private static KafkaOffsetRange range(Partition partition) {
    if (!(partition instanceof DataSourceRDDPartition read) || read.inputPartition().isEmpty())
      return null;
    return read.inputPartition().get() instanceof KafkaBatchInputPartition input
        ? input.offsetRange()
        : null;
  }

  private void read(RDD<?> rdd, int index, Reads reads) {
    if (rdd.dependencies().isEmpty()) {
      readTopic(rdd, index, reads);
      return;
    }
    for (Dependency<?> dependency : CollectionConverters.asJava(rdd.dependencies())) {
      if (dependency instanceof ShuffleDependency<?, ?, ?> shuffle) {
        reads.add(
            "s" + leaves.get(shuffle) + "-" + index + "of" + shuffle.partitioner().numPartitions());
      } else {
        var parents = ((NarrowDependency<?>) dependency).getParents(index);
        for (Object parent : CollectionConverters.asJava(parents))
          read(dependency.rdd(), (Integer) parent, reads);
      }
    }
  }

  private void readTopic(RDD<?> rdd, int index, Reads reads) {
    KafkaOffsetRange range = range(rdd.partitions()[index]);
    int ordinal = ordinals.get(rdd).get(index);
    String name = "k" + leaves.get(rdd) + "-" + range.topic() + "-" + range.partition();
    reads.add(ordinal == 0 ? name : name + "-" + ordinal);
    reads.text.append(" ").append(range.fromOffset()).append("-").append(range.untilOffset());
  }
}
