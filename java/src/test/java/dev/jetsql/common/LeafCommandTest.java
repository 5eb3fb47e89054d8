package dev.jetsql.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.Seq;

class LeafCommandTest {
  private static final class Secretive extends LeafCommand {
    Secretive() {
      super("CREATE TABLE t OPTIONS (password 'p4ssw0rd')");
    }

    @Override
    public Seq<Row> run(SparkSession session) {
      return Sequences.of();
    }
  }

  @Test
  void aPlanShowsNothingOfAStatement() {
    assertFalse(new Secretive().toString().contains("p4ssw0rd"));
    assertFalse(new Secretive().treeString().contains("p4ssw0rd"));
  }

  @Test
  void aCommandHasNoChildren() {
    assertEquals(0, new Secretive().children().size());
    assertEquals(1, new Secretive().productArity());
  }
}
