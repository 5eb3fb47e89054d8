package dev.jetsql.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.spark.sql.catalyst.trees.Origin;
import org.junit.jupiter.api.Test;
import scala.Option;

class OptionPositionsTest {
  private static final String INSERT =
      "INSERT INTO topic\n  WITH ('topic' = \"news\", keep true)\nSELECT 1";

  /** Returns the place of a text in a statement, with the line of its first line only. */
  private static Origin origin(String text, int start) {
    return Origin.apply(
        Option.apply(1),
        Option.apply(start),
        Option.apply(start),
        Option.apply(start + 1),
        Option.apply(text),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty());
  }

  private static String lineAndColumn(Origin origin) {
    return origin.line().get() + ":" + origin.startPosition().get();
  }

  @Test
  void aNameIsFoundAfterTheTable() {
    var table = origin(INSERT, INSERT.indexOf("topic"));
    assertEquals("2:8", lineAndColumn(OptionPositions.after(table, "topic", null)));
    assertEquals("2:18", lineAndColumn(OptionPositions.after(table, "topic", "news")));
    assertEquals("2:26", lineAndColumn(OptionPositions.after(table, "keep", null)));
    assertSame(table, OptionPositions.after(table, "missing", null));
  }

  @Test
  void aKeyStandsBeforeItsValue() {
    var text = "OPTIONS (kafka 'x',\n path 'kafka')";
    var value = origin(text, text.lastIndexOf("'kafka'"));
    assertEquals("2:1", lineAndColumn(OptionPositions.ofKey(value, "path")));
    assertSame(value, OptionPositions.ofKey(value, "missing"));
  }
}
