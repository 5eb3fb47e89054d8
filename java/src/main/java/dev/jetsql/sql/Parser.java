package dev.jetsql.sql;

import dev.jetsql.stream.ThriftStreamingSelects;
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
 * Spark's parser with our statements in front.
 *
 * A class and not a reflective proxy, because a proxy may not throw an AnalysisException: it would reach clients wrapped,
 * without its condition.
 */
class Parser implements ParserInterface {
  private final Object session;
  private final ParserInterface spark;

  Parser(Object session, ParserInterface spark) {
    this.session = session;
    this.spark = spark;
  }

  public LogicalPlan parsePlan(String text) throws ParseException {
    LogicalPlan command = Extension.command(session, text);
    return command != null ? command : ThriftStreamingSelects.markStatement(spark.parsePlan(text));
  }

  public LogicalPlan parsePlanWithParameters(String text, ParameterContext parameters) throws ParseException {
    LogicalPlan command = Extension.command(session, text);
    return command != null ? command : ThriftStreamingSelects.markStatement(spark.parsePlanWithParameters(text, parameters));
  }

  public LogicalPlan parseQuery(String text) throws ParseException {
    return spark.parseQuery(text);
  }

  public Expression parseExpression(String text) throws ParseException {
    return spark.parseExpression(text);
  }

  public TableIdentifier parseTableIdentifier(String text) throws ParseException {
    return spark.parseTableIdentifier(text);
  }

  public FunctionIdentifier parseFunctionIdentifier(String text) throws ParseException {
    return spark.parseFunctionIdentifier(text);
  }

  public Seq parseMultipartIdentifier(String text) throws ParseException {
    return spark.parseMultipartIdentifier(text);
  }

  public TemporalIdentifier parseTemporalTableIdentifier(String text) throws ParseException {
    return spark.parseTemporalTableIdentifier(text);
  }

  public StructType parseRoutineParam(String text) throws ParseException {
    return spark.parseRoutineParam(text);
  }

  public SqlStatementSplitResult splitStatements(String text) {
    return spark.splitStatements(text);
  }

  public StructType parseTableSchema(String text) throws ParseException {
    return spark.parseTableSchema(text);
  }

  public DataType parseDataType(String text) throws ParseException {
    return spark.parseDataType(text);
  }
}
