package dev.jetsql.common;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.UncheckedIOException;
import java.util.List;

/** The JSON that Python and Java exchange when a call has more than one value. */
public final class Json {
  public static final ObjectMapper MAPPER = new ObjectMapper();

  private Json() {}

  public static JsonNode read(String text) {
    try {
      return MAPPER.readTree(text);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static ObjectNode readObject(String text) {
    return (ObjectNode) read(text);
  }

  /** Returns the strings of a JSON array. */
  public static List<String> readTexts(String text) {
    return texts(read(text));
  }

  /** Returns the strings of a JSON array. */
  public static List<String> texts(JsonNode array) {
    return List.of(MAPPER.convertValue(array, String[].class));
  }

  public static String write(Object value) {
    try {
      return MAPPER.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }
}
