package dev.jetsql.kafka.registry;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.api.java.UDF1;

/** Reads JSON messages whose schemas are in a registry. Executors receive a copy with each task. */
public final class RegisteredTexts implements Serializable {
  private static final long serialVersionUID = 1L;

  private final SchemaRegistry<JsonNode> registry;

  public RegisteredTexts(SchemaRegistry<JsonNode> registry) {
    this.registry = registry;
  }

  /** Returns the function that returns a message's JSON, or NULL if it does not fit. */
  public UDF1<byte[], byte[]> reader() {
    return bytes ->
        bytes == null || reason(bytes) != null
            ? null
            : Arrays.copyOfRange(bytes, WireFormat.HEADER_BYTES, bytes.length);
  }

  /** Returns the function that returns why a message does not fit, or NULL if it does. */
  public UDF1<byte[], String> reason() {
    return bytes -> bytes == null ? null : reason(bytes);
  }

  private String reason(byte[] bytes) {
    if (!WireFormat.hasHeader(bytes)) return WireFormat.NO_HEADER;
    int id = WireFormat.id(bytes);
    return WireFormat.problem(id, registry.byId(id));
  }
}
