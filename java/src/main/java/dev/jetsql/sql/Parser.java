package dev.jetsql.sql;

import dev.jetsql.flink.FlinkText;
import dev.jetsql.flink.ViewText;
import dev.jetsql.stream.ThriftStreamingSelects;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.SqlStatementSplitResult;
import org.apache.spark.sql.catalyst.parser.TemporalIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Spark's parser, extended with JetSQL's statements and with clauses of Flink.
 *
 * <p>It is not a reflective proxy, because a proxy may not throw an AnalysisException: clients
 * would receive the exception wrapped, without its condition.
 */
final class Parser implements ParserInterface {
  private final SparkSession session;
  private final ParserInterface spark;

  Parser(SparkSession session, ParserInterface spark) {
    this.session = session;
    this.spark = spark;
  }

  @Override
  public LogicalPlan parsePlan(String text) throws ParseException {
    var command = Engine.command(session, text);
    if (command != null) return command;
    var sparkText = FlinkText.toSpark(text);
    var plan = ViewText.restore(spark.parsePlan(sparkText), sparkText, text);
    return ThriftStreamingSelects.markStatement(plan);
  }

  @Override
  public LogicalPlan parsePlanWithParameters(String text, ParameterContext parameters)
      throws ParseException {
    var command = Engine.command(session, text);
    if (command != null) return command;
    var sparkText = FlinkText.toSpark(text);
    var plan =
        ViewText.restore(spark.parsePlanWithParameters(sparkText, parameters), sparkText, text);
    return ThriftStreamingSelects.markStatement(plan);
  }

  @Override
  public LogicalPlan parseQuery(String text) throws ParseException {
    return spark.parseQuery(FlinkText.toSpark(text));
  }

  @Override
  public Expression parseExpression(String text) throws ParseException {
    return spark.parseExpression(text);
  }

  @Override
  public TableIdentifier parseTableIdentifier(String text) throws ParseException {
    return spark.parseTableIdentifier(text);
  }

  @Override
  public FunctionIdentifier parseFunctionIdentifier(String text) throws ParseException {
    return spark.parseFunctionIdentifier(text);
  }

  @Override
  public Seq<String> parseMultipartIdentifier(String text) throws ParseException {
    return spark.parseMultipartIdentifier(text);
  }

  @Override
  public TemporalIdentifier parseTemporalTableIdentifier(String text) throws ParseException {
    return spark.parseTemporalTableIdentifier(text);
  }

  @Override
  public StructType parseRoutineParam(String text) throws ParseException {
    return spark.parseRoutineParam(text);
  }

  @Override
  public SqlStatementSplitResult splitStatements(String text) {
    return spark.splitStatements(text);
  }

  @Override
  public StructType parseTableSchema(String text) throws ParseException {
    return spark.parseTableSchema(text);
  }

  @Override
  public DataType parseDataType(String text) throws ParseException {
    return spark.parseDataType(text);
  }
}
