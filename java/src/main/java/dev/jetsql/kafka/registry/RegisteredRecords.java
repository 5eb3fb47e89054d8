package dev.jetsql.kafka.registry;

import dev.jetsql.records.AvroRecords;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.api.java.UDF1;

/**
 * Converts Avro records that were written with schemas of a registry to records of one schema,
 * which `from_avro` can read. Avro resolves added, removed and reordered fields.
 */
public final class RegisteredRecords implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int MAX_READERS = 100;

  private final SchemaRegistry<Schema> registry;
  private final String target;
  private transient Map<Integer, Reader> readers;
  private transient Schema targetSchema;

  /**
   * @param target the schema of the resulting records, JSON
   */
  public RegisteredRecords(SchemaRegistry<Schema> registry, String target) {
    this.registry = registry;
    this.target = target;
  }

  /** Returns the function that converts a message, or returns NULL if it does not fit. */
  public UDF1<byte[], byte[]> converter() {
    return bytes -> bytes == null ? null : convert(bytes).record();
  }

  /** Returns the function that returns why a message does not fit, or NULL if it does. */
  public UDF1<byte[], String> reason() {
    return bytes -> bytes == null ? null : convert(bytes).reason();
  }

  /** A converted record, or the reason why there is none, as a text without a full stop. */
  static final class Result {
    private final byte[] record;
    private final String reason;

    private Result(byte[] record, String reason) {
      this.record = record;
      this.reason = reason;
    }

    byte[] record() {
      return record;
    }

    String reason() {
      return reason;
    }
  }

  private record Reader(
      Schema written,
      boolean isSame,
      GenericDatumReader<Object> reader,
      GenericDatumWriter<Object> writer) {}

  Result convert(byte[] bytes) {
    if (!WireFormat.hasHeader(bytes)) {
      return broken(WireFormat.NO_HEADER);
    }
    int id = WireFormat.id(bytes);
    String mismatch = null;
    Reader reader = null;
    synchronized (this) {
      if (readers == null) readers = new HashMap<>();
      reader = readers.get(id);
    }
    if (reader == null) {
      SchemaRegistry.Registered<Schema> found = registry.byId(id);
      String problem = WireFormat.problem(id, found);
      if (problem != null) return broken(problem);
      Schema written = found.schema();
      mismatch = Resolution.mismatch(written, target());
      if (mismatch != null)
        return broken("its schema, id " + id + ", does not match the columns: " + mismatch);
      reader = remember(id, written);
    }
    try {
      if (AvroRecords.hasMoreBytes(reader.written(), decoder(bytes)))
        return broken(AvroRecords.MORE_BYTES);
      return new Result(reader.isSame() ? withoutHeader(bytes) : rewrite(reader, bytes), null);
    } catch (IOException | AvroRuntimeException | IndexOutOfBoundsException e) {
      return broken("it is not a valid record of its schema, id " + id);
    }
  }

  private static Result broken(String reason) {
    return new Result(null, reason);
  }

  private synchronized Schema target() {
    if (targetSchema == null)
      targetSchema = new Schema.Parser().setValidateDefaults(false).parse(target);
    return targetSchema;
  }

  private synchronized Reader remember(int id, Schema written) {
    Schema to = target();
    var data = new GenericData();
    var reader =
        new Reader(
            written,
            written.equals(to),
            new GenericDatumReader<>(written, to, data),
            new GenericDatumWriter<>(to, data));
    if (readers.size() >= MAX_READERS) readers.clear();
    readers.put(id, reader);
    return reader;
  }

  /** Returns the record of a message that was written with the target schema. */
  private static byte[] withoutHeader(byte[] bytes) {
    return Arrays.copyOfRange(bytes, WireFormat.HEADER_BYTES, bytes.length);
  }

  private static BinaryDecoder decoder(byte[] bytes) {
    int length = bytes.length - WireFormat.HEADER_BYTES;
    return DecoderFactory.get().binaryDecoder(bytes, WireFormat.HEADER_BYTES, length, null);
  }

  private static byte[] rewrite(Reader reader, byte[] bytes) throws IOException {
    Object record;
    synchronized (reader) { // Avro's readers are not safe for threads
      record = reader.reader().read(null, decoder(bytes));
    }
    var out = new ByteArrayOutputStream(bytes.length + 16);
    BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
    reader.writer().write(record, encoder);
    encoder.flush();
    return out.toByteArray();
  }
}
