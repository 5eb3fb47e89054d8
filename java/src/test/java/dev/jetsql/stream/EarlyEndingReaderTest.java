package dev.jetsql.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.junit.jupiter.api.Test;
import scala.Option;

class EarlyEndingReaderTest {
  private final OffsetOutOfRangeException lost =
      new OffsetOutOfRangeException(Map.of(new TopicPartition("topic", 0), 5L));

  private final AtomicBoolean endsEarly = new AtomicBoolean();
  private final Deque<Object> results =
      new ArrayDeque<>(); // of the connector: a record, or an error
  private final List<Long> waits = new ArrayList<>();
  private final List<Long> startOffsets = new ArrayList<>();
  private int closed;

  /** A connector whose reader returns `results`, and no record when there are none. */
  private final class Connector implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      startOffsets.add(((KafkaBatchInputPartition) partition).offsetRange().fromOffset());
      return new ConnectorReader();
    }
  }

  private final class ConnectorReader implements SupportsRealTimeRead<InternalRow> {
    @Override
    public RecordStatus nextWithTimeout(Long begin, Long millis) {
      waits.add(millis);
      Object result = results.poll();
      if (result instanceof RuntimeException error) throw error;
      if (result != null) return RecordStatus.newStatusWithoutArrivalTime(true);
      if (waits.size() == 3) endsEarly.set(true);
      return RecordStatus.newStatusWithoutArrivalTime(false);
    }

    @Override
    public PartitionOffset getOffset() {
      return null;
    }

    @Override
    public boolean next() {
      return false;
    }

    @Override
    public InternalRow get() {
      return null;
    }

    @Override
    public void close() {
      closed++;
    }
  }

  private EarlyEndingReader reader(boolean failOnDataLoss) {
    var range = new KafkaOffsetRange(new TopicPartition("topic", 0), 5, 100, Option.empty());
    var partition = new KafkaBatchInputPartition(range, Map.of(), 10, failOnDataLoss, false);
    return new EarlyEndingReader(new Connector(), partition, endsEarly::get);
  }

  private static boolean hasRecord(EarlyEndingReader reader, long millis) throws IOException {
    return reader.nextWithTimeout(System.currentTimeMillis(), millis).hasRecord();
  }

  @Test
  void returnsARecord() throws IOException {
    results.add("record");
    assertTrue(hasRecord(reader(true), 60000));
    assertEquals(List.of(200L), waits);
  }

  @Test
  void waitsInShortStepsUntilTheBatchEndsEarly() throws IOException {
    assertFalse(hasRecord(reader(true), 60000));
    assertEquals(List.of(200L, 200L, 200L), waits);
  }

  @Test
  void doesNotReadAfterTheEarlyEnd() throws IOException {
    endsEarly.set(true);
    assertFalse(hasRecord(reader(true), 60000));
    assertEquals(List.of(), waits);
  }

  @Test
  void waitsNoLongerThanTheBatch() throws IOException {
    results.add("record");
    assertTrue(hasRecord(reader(true), 50));
    assertEquals(List.of(50L), waits);
  }

  @Test
  void continuesAtTheEarliestMessageAfterAPermittedLoss() throws IOException {
    results.add(lost);
    results.add("record");
    assertTrue(hasRecord(reader(false), 60000));
    assertEquals(List.of(5L, -2L), startOffsets);
    assertEquals(1, closed);
  }

  @Test
  void failsAfterALossThatIsNotPermitted() {
    results.add(lost);
    var reader = reader(true);
    assertThrows(OffsetOutOfRangeException.class, () -> hasRecord(reader, 60000));
    assertEquals(List.of(5L), startOffsets);
  }
}
