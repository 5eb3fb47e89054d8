package dev.jetsql.versions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.junit.jupiter.api.Test;
import scala.Option;

class CaseClassesTest {
  private static final TableIdentifier TABLE = new TableIdentifier("t", Option.apply("s"));

  @Test
  void fieldsAreReplacedByTheirNames() {
    var copy = CaseClasses.copy(TABLE, Map.of("table", "u"));
    assertEquals(new TableIdentifier("u", Option.apply("s")), copy);
    assertEquals(TABLE, CaseClasses.copy(TABLE, Map.of()));
  }

  @Test
  void fieldsThatDoNotExistAreErrors() {
    var changes = Map.of("table", "u", "tables", "v");
    var error =
        assertThrows(IllegalArgumentException.class, () -> CaseClasses.copy(TABLE, changes));
    assertTrue(error.getMessage().endsWith("TableIdentifier has no [tables]"), error.getMessage());
  }
}
