package dev.jetsql.kafka.protobuf;

import dev.jetsql.kafka.registry.SchemaRegistry;
import dev.jetsql.kafka.registry.WireFormat;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FileDescriptor;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;

/**
 * Reads Protobuf messages whose schemas are in a registry as rows. Executors receive a copy with
 * each task.
 */
public final class RegisteredMessages implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int MAX_READERS = 100;

  private final SchemaRegistry<FileDescriptor> registry;
  private final String messageName;
  private final StructType columns;
  private transient Map<List<Integer>, Reader> readers;

  /**
   * @param messageName the messages' full name; null for the first message of each schema
   */
  public RegisteredMessages(
      SchemaRegistry<FileDescriptor> registry, String messageName, StructType columns) {
    this.registry = registry;
    this.messageName = messageName;
    this.columns = columns;
  }

  /** The reader of a type of messages, or the reason why there is none. */
  private record Reader(MessageReader messages, String problem) {}

  /** A row, or the reason why there is none, as a text without a full stop. */
  private record Result(Row row, String reason) {}

  /** Returns the function that returns a message as a row, or NULL if it does not fit. */
  public UDF1<byte[], Row> reader() {
    return bytes -> bytes == null ? null : read(bytes).row();
  }

  /** Returns the function that returns why a message does not fit, or NULL if it does. */
  public UDF1<byte[], String> reason() {
    return bytes -> bytes == null ? null : read(bytes).reason();
  }

  private Result read(byte[] bytes) {
    if (!WireFormat.hasHeader(bytes)) return new Result(null, WireFormat.NO_HEADER);
    int id = WireFormat.id(bytes);
    MessageIndexes place = MessageIndexes.read(bytes, WireFormat.HEADER_BYTES);
    if (place == null) return new Result(null, "it ends within the index of its type");
    Reader reader = find(id, place);
    if (reader.problem() != null) return new Result(null, reader.problem());
    try {
      return new Result(reader.messages().read(bytes, place.end()), null);
    } catch (InvalidProtocolBufferException e) {
      return new Result(
          null,
          "it is not a valid message of the type "
              + reader.messages().name()
              + " in its schema, id "
              + id);
    }
  }

  private synchronized Reader known(List<Integer> key) {
    if (readers == null) readers = new HashMap<>();
    return readers.get(key);
  }

  private synchronized Reader remember(List<Integer> key, Reader reader) {
    if (readers.size() >= MAX_READERS) readers.clear();
    readers.put(key, reader);
    return reader;
  }

  private Reader find(int id, MessageIndexes place) {
    List<Integer> key = new ArrayList<>(place.indexes());
    key.add(id);
    Reader reader = known(key);
    if (reader != null) return reader;
    SchemaRegistry.Registered<FileDescriptor> found = registry.byId(id);
    String problem = WireFormat.problem(id, found);
    if (problem != null) return new Reader(null, problem); // it can change
    return remember(key, create(id, place, found.schema()));
  }

  private Reader create(int id, MessageIndexes place, FileDescriptor file) {
    String schema = "its schema, id " + id + ", ";
    Descriptor message = place.find(file);
    if (message == null)
      return new Reader(null, schema + "has no message with the index " + place.indexes());
    boolean isFirst = place.indexes().equals(List.of(0));
    if (messageName == null ? !isFirst : !messageName.equals(message.getFullName())) {
      String expected = messageName == null ? "the first message of its schema" : messageName;
      return new Reader(
          null, "it is of the type " + message.getFullName() + ", and not " + expected);
    }
    try {
      MessageReader messages = new MessageReader(message, columns);
      if (messages.hasAnyColumn()) return new Reader(messages, null);
      return new Reader(null, schema + "has no field for any of the columns");
    } catch (IllegalArgumentException e) {
      return new Reader(null, schema + "does not match the columns: " + e.getMessage());
    }
  }
}
