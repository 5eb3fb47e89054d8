package dev.jetsql.kafka;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.Partition;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import scala.collection.Iterator;

/**
 * The parts of a batch, each named by what it reads: a topic's partition or a partition of a shuffle, whichever of the
 * plan's it is. The number of a task is no name: when a batch comes again, Spark may hand Kafka's partitions to the tasks
 * in another order.
 */
class Parts {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int LONGEST = 200;

  private final Map leaves = new IdentityHashMap();  // RDD or ShuffleDependency -> its number in the plan
  private final Map seen = new IdentityHashMap();
  private final Map ordinals = new IdentityHashMap();  // RDD that reads Kafka -> place of each of its partitions' ranges
  private boolean lasting = true;

  /**
   * A JSON array of {"name", "reads"} in the order of the tasks, reads: with the offsets; null when some of the rows come
   * from something that may be cut into other parts the next time.
   */
  static String of(RDD rows) throws Exception {
    Parts parts = new Parts();
    parts.number(rows);
    if (!parts.lasting) return null;
    ArrayNode found = JSON.createArrayNode();
    Map times = new HashMap();
    int count = rows.getNumPartitions();
    for (int i = 0; i < count; i++) {
      List names = new ArrayList();
      StringBuilder reads = new StringBuilder();
      parts.read(rows, i, names, reads);
      if (names.isEmpty()) return null;
      String name = joined(names);
      Integer before = (Integer) times.get(name);
      times.put(name, Integer.valueOf(before == null ? 1 : before.intValue() + 1));
      // The same shuffle may be read by several branches of a union, whose order is the plan's.
      if (before != null) name = name + "." + before;
      ObjectNode part = found.addObject();
      part.put("name", name);
      part.put("reads", reads.toString());
    }
    return JSON.writeValueAsString(found);
  }

  private static String joined(List names) throws Exception {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < names.size(); i++) text.append(i == 0 ? "" : "+").append(names.get(i));
    if (text.length() <= LONGEST) return text.toString();
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.toString().getBytes(StandardCharsets.UTF_8));
    StringBuilder hex = new StringBuilder("h");
    for (int i = 0; i < 16; i++) hex.append(String.format("%02x", new Object[] {Byte.valueOf(digest[i])}));
    return hex.toString();
  }

  /** Number what the rows come from in the order of the plan, which does not depend on the order of the partitions. */
  private void number(RDD rdd) {
    if (seen.put(rdd, rdd) != null) return;
    if (rdd.dependencies().isEmpty()) {
      if (rdd.getNumPartitions() == 0) return;
      leaves.put(rdd, Integer.valueOf(leaves.size()));
      lasting = lasting && readsKafka(rdd);
      return;
    }
    Iterator each = rdd.dependencies().iterator();
    while (each.hasNext()) {
      Object dependency = each.next();
      if (dependency instanceof ShuffleDependency) {
        if (!leaves.containsKey(dependency)) leaves.put(dependency, Integer.valueOf(leaves.size()));
      } else {
        number(((Dependency) dependency).rdd());
      }
    }
  }

  private boolean readsKafka(RDD rdd) {
    Partition[] partitions = rdd.partitions();
    Map places = new HashMap();  // topic-partition -> offset -> index
    for (int i = 0; i < partitions.length; i++) {
      KafkaOffsetRange range = range(partitions[i]);
      if (range == null) return false;
      Map of = (Map) places.get(range.topicPartition());
      if (of == null) places.put(range.topicPartition(), of = new TreeMap());
      of.put(Long.valueOf(range.fromOffset()), Integer.valueOf(i));
    }
    Map ordinal = new HashMap();
    java.util.Iterator each = places.values().iterator();
    while (each.hasNext()) {
      java.util.Iterator indices = ((Map) each.next()).values().iterator();
      for (int n = 0; indices.hasNext(); n++) ordinal.put(indices.next(), Integer.valueOf(n));
    }
    ordinals.put(rdd, ordinal);
    return true;
  }

  private static KafkaOffsetRange range(Partition partition) {
    if (!(partition instanceof DataSourceRDDPartition)) return null;
    scala.Option input = ((DataSourceRDDPartition) partition).inputPartition();
    if (input.isEmpty() || !(input.get() instanceof KafkaBatchInputPartition)) return null;
    return ((KafkaBatchInputPartition) input.get()).offsetRange();
  }

  private void read(RDD rdd, int index, List names, StringBuilder reads) {
    if (rdd.dependencies().isEmpty()) {
      KafkaOffsetRange range = range(rdd.partitions()[index]);
      Object ordinal = ((Map) ordinals.get(rdd)).get(Integer.valueOf(index));
      String name = "k" + leaves.get(rdd) + "-" + range.topic() + "-" + range.partition();
      add(((Integer) ordinal).intValue() == 0 ? name : name + "-" + ordinal, names, reads);
      reads.append(" ").append(range.fromOffset()).append("-").append(range.untilOffset());
      return;
    }
    Iterator each = rdd.dependencies().iterator();
    while (each.hasNext()) {
      Object dependency = each.next();
      if (dependency instanceof ShuffleDependency) {
        int of = ((ShuffleDependency) dependency).partitioner().numPartitions();
        add("s" + leaves.get(dependency) + "-" + index + "of" + of, names, reads);
      } else {
        Iterator parents = ((NarrowDependency) dependency).getParents(index).iterator();
        while (parents.hasNext()) {
          read(((Dependency) dependency).rdd(), ((Integer) parents.next()).intValue(), names, reads);
        }
      }
    }
  }

  private static void add(String name, List names, StringBuilder reads) {
    names.add(name);
    reads.append(reads.length() == 0 ? "" : ", ").append(name);
  }
}
