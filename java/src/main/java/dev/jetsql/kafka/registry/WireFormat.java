package dev.jetsql.kafka.registry;

import java.nio.ByteBuffer;

/**
 * The header that clients of a schema registry write: a zero byte, and the schema id in 4 bytes.
 */
public final class WireFormat {
  public static final int HEADER_BYTES = 5;

  /** The reason why bytes without a header do not fit. */
  public static final String NO_HEADER =
      "it does not begin with a zero byte and a schema id of the schema registry";

  private WireFormat() {}

  /** Returns the header of a schema. */
  public static byte[] header(int id) {
    return ByteBuffer.allocate(HEADER_BYTES).putInt(1, id).array();
  }

  /** Returns whether bytes begin with a header. */
  public static boolean hasHeader(byte[] bytes) {
    return bytes.length >= HEADER_BYTES && bytes[0] == 0;
  }

  /** Returns the schema id of bytes with a header. */
  public static int id(byte[] bytes) {
    return ByteBuffer.wrap(bytes).getInt(1);
  }

  /**
   * Returns why the schema of a message cannot be used, as a text without a full stop, or null if
   * it can.
   *
   * @param found null if the registry has none
   */
  public static String problem(int id, SchemaRegistry.Registered<?> found) {
    if (found == null)
      return "the schema registry has no schema with the id " + id + ", with which it begins";
    return found.schema() != null
        ? null
        : "its schema, id " + id + ", cannot be used: " + found.problem();
  }
}
