package dev.jetsql.parser;

import dev.jetsql.common.LeafCommand;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * A statement of JetSQL in Spark's plan. The class and its constructor are public because Spark
 * copies plans by reflection.
 */
public final class StatementCommand extends LeafCommand {
  private final String text;
  private final Seq<Attribute> output;
  private final StructType columns;

  public StatementCommand(String text, Seq<Attribute> output, StructType columns) {
    super(text, output, columns);
    this.text = text;
    this.output = output;
    this.columns = columns;
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    return EngineStatements.execute(session, text, columns);
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }
}
