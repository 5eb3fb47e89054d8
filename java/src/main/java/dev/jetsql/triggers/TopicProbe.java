package dev.jetsql.triggers;

import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaOffsetReaderAdmin;
import org.apache.spark.sql.kafka010.KafkaSourceOffset;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The topics of a source of Kafka: the newest offset of each known partition, and from time to time
 * whether the topics have new partitions, as a trigger finds out with more requests.
 */
final class TopicProbe implements SourceProbe {
  private static final long DESCRIBED_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final StreamExecution query;
  private final SparkDataStream key;
  private final KafkaMicroBatchStream source;
  private long described;

  /**
   * Creates it.
   *
   * @param key the source as the query knows it
   * @param source the source itself, which `key` may wrap
   */
  TopicProbe(StreamExecution query, SparkDataStream key, Object source) {
    this.query = query;
    this.key = key;
    this.source = (KafkaMicroBatchStream) source;
  }

  /** Returns true: the offsets of the query show what its triggers have seen. */
  @Override
  public boolean mark() {
    described = System.nanoTime();
    return true;
  }

  @Override
  public boolean mayHaveRows() throws Exception {
    var offset = query.availableOffsets().get(key);
    if (offset.isEmpty() || !(source.kafkaOffsetReader() instanceof KafkaOffsetReaderAdmin reader))
      return true;
    var seen = offsets(offset.get());
    if (System.nanoTime() - described > DESCRIBED_NANOS) {
      described = System.nanoTime();
      return !reader.fetchLatestOffsets(Option.empty()).equals(seen);
    }
    var newest = NewestOffsets.read(reader, CollectionConverters.asJava(seen.keySet()));
    for (var partition : newest.entrySet())
      if (!seen.get(partition.getKey()).contains(partition.getValue())) return true;
    return false;
  }

  /**
   * Returns the offsets by partition. A run begins with those of its checkpoint, which are text.
   */
  private scala.collection.immutable.Map<TopicPartition, Object> offsets(Offset offset) {
    var read =
        offset instanceof KafkaSourceOffset known
            ? known
            : (KafkaSourceOffset) source.deserializeOffset(offset.json());
    return read.partitionToOffsets();
  }
}
