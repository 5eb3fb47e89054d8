package dev.jetsql.kafka.registry;

import java.nio.ByteBuffer;

/**
 * The header that clients of a schema registry write: a zero byte, and the schema id in 4 bytes.
 */
public final class WireFormat {
  public static final int HEADER_BYTES = 5;

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
}
