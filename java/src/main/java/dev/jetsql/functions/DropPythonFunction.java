package dev.jetsql.functions;

import dev.jetsql.common.LeafCommand;
import dev.jetsql.common.Sequences;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.collection.immutable.Seq;

/** DROP FUNCTION for a function in Python. */
public final class DropPythonFunction extends LeafCommand {
  private final String schema;
  private final String name;
  private final boolean ifExists;

  public DropPythonFunction(String schema, String name, boolean ifExists) {
    super(schema, name, ifExists);
    this.schema = schema;
    this.name = name;
    this.ifExists = ifExists;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    PythonFunctions.drop(session, schema, name, ifExists);
    return Sequences.of();
  }
}
