package dev.jetsql.kafka.transactions;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

class TaskFunctionsTest {
  @Test
  void sendsThePartWriterToExecutors() throws Exception {
    String[] parts = {"p"};
    var writer =
        new TransactionalPartWriter(
            Map.of("acks", "all"), "id-", "j", 1L, parts, null, false, Map.of());
    assertEquals(TransactionalPartWriter.class, copied(writer).getClass());
  }

  @Test
  void closesNothingWithoutIdleProducers() throws Exception {
    Iterator<Integer> rows = List.of(1).iterator();
    var closer = (IdleProducerCloser) copied(new IdleProducerCloser("id-"));
    assertDoesNotThrow(() -> closer.call(rows));
  }

  @Test
  void findsTheNewestBatchOfAGroup() {
    TopicPartition partition = new TopicPartition("t", 0);
    assertEquals(-1, ProducerPool.newestBatch(Map.of()));
    assertEquals(41, ProducerPool.newestBatch(Map.of(partition, new OffsetAndMetadata(42))));
  }

  private static Object copied(Object function) throws IOException, ClassNotFoundException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(function);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      return in.readObject();
    }
  }
}
