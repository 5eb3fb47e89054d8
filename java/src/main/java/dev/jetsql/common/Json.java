package dev.jetsql.common;

import com.fasterxml.jackson.databind.ObjectMapper;

/** The JSON mapper of everything that Python and Java exchange. */
public final class Json {
  public static final ObjectMapper MAPPER = new ObjectMapper();

  private Json() {}
}
