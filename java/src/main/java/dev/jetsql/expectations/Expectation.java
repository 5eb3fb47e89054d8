package dev.jetsql.expectations;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Json;
import java.util.ArrayList;
import java.util.List;

/**
 * A rule for the rows of a job.
 *
 * @param text the condition at its offset in the statement: before it are blanks
 * @param action WARN, DROP ROW, FAIL or INTO TABLE
 * @param table the table of INTO TABLE; otherwise empty
 * @param line the line of the condition, from 1
 * @param column its column, from 0
 */
public record Expectation(
    String name, String text, String action, String table, int line, int column) {
  static final String DROP_ROW = "DROP ROW";
  static final String FAIL = "FAIL";
  static final String INTO_TABLE = "INTO TABLE";

  /** Returns the rules of a JSON array. */
  static List<Expectation> read(String rules) {
    var list = new ArrayList<Expectation>();
    for (JsonNode each : Json.read(rules))
      list.add(
          new Expectation(
              each.get("name").asText(),
              each.get("text").asText(),
              each.get("action").asText(),
              each.get("table").asText(),
              each.get("line").asInt(),
              each.get("column").asInt()));
    return list;
  }

  /** Returns whether rows that violate the rule are not written. */
  public boolean removes() {
    return is(DROP_ROW) || is(INTO_TABLE);
  }

  boolean is(String other) {
    return action.equals(other);
  }
}
