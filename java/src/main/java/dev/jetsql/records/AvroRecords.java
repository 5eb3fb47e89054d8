package dev.jetsql.records;

import java.io.IOException;
import java.io.Serializable;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.types.DataTypes;

/**
 * Finds bytes after an Avro record, which readers ignore. Executors receive a copy with each task.
 */
public final class AvroRecords implements Serializable {
  /** The reason why a record with bytes after it does not fit. */
  public static final String MORE_BYTES = "it has bytes after its record";

  private static final long serialVersionUID = 1L;

  private final String text;
  private transient Schema schema;

  /**
   * @param schema the schema with which the records were written, JSON
   */
  public AvroRecords(String schema) {
    this.text = schema;
  }

  /** Returns whether bytes follow a record; false also for bytes that are not a record. */
  public Column hasMoreBytes(Column bytes) {
    return RecordFunctions.call(this, "hasMore", DataTypes.BooleanType, bytes);
  }

  /** Returns whether bytes follow a record. The generated code calls it. */
  public boolean hasMore(byte[] bytes) {
    if (schema == null) schema = new Schema.Parser().setValidateDefaults(false).parse(text);
    try {
      return hasMoreBytes(schema, DecoderFactory.get().binaryDecoder(bytes, null));
    } catch (IOException | AvroRuntimeException | IndexOutOfBoundsException e) {
      return false; // from_avro fails as well
    }
  }

  /** Returns whether bytes follow the record at which a decoder is. Throws Avro's errors. */
  public static boolean hasMoreBytes(Schema schema, BinaryDecoder decoder) throws IOException {
    GenericDatumReader.skip(schema, decoder);
    return !decoder.isEnd();
  }
}
