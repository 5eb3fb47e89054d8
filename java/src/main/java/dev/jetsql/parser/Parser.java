package dev.jetsql.parser;

import dev.jetsql.common.Exceptions;
import dev.jetsql.flink.FlinkText;
import dev.jetsql.flink.ViewText;
import dev.jetsql.stream.ThriftStreamingSelects;
import java.util.concurrent.Callable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.PositionalParameterContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkSqlParser;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Spark's parser, extended with JetSQL's statements and with clauses of Flink.
 *
 * <p>All texts of all clients come through it, so it refuses those that Spark cannot parse in a
 * bounded time, see {@link StatementLimits}.
 *
 * <p>It passes everything else to the parser of the session, which other extensions may have
 * extended as well. It extends Spark's own parser for the methods that only some versions of Spark
 * have, such as the splitting of scripts.
 *
 * <p>It is not a reflective proxy, because a proxy may not throw an AnalysisException: clients
 * would receive the exception wrapped, without its condition.
 */
public final class Parser extends SparkSqlParser {
  private final SparkSession session;
  private final ParserInterface spark;

  public Parser(SparkSession session, ParserInterface spark) {
    this.session = session;
    this.spark = spark;
  }

  @Override
  public LogicalPlan parsePlan(String text) {
    StatementLimits.check(text);
    var command = EngineStatements.command(session, text);
    if (command != null) return command;
    var sparkText = FlinkText.toSpark(text);
    var plan = parsed(text, () -> spark.parsePlan(sparkText));
    return ThriftStreamingSelects.markStatement(ViewText.restore(plan, sparkText, text));
  }

  /**
   * Binds the parameters also where the setting constantsOnly leaves that to the caller: Spark
   * Connect does not do it.
   */
  @Override
  public LogicalPlan parsePlanWithParameters(String text, ParameterContext parameters) {
    StatementLimits.check(text);
    var haveValues = Parameters.areOfClient(parameters) && !Parameters.isEmpty(parameters);
    var command =
        haveValues
            ? EngineStatements.command(session, text, () -> Parameters.texts(parameters))
            : EngineStatements.command(session, text);
    if (command != null) return command;
    if (haveValues && parameters instanceof PositionalParameterContext)
      EngineStatements.checkNumber(session, text, Parameters.values(parameters).size());
    var sparkText = FlinkText.toSpark(text);
    var plan = parsed(text, () -> spark.parsePlanWithParameters(sparkText, parameters));
    var bound = Parameters.bind(ViewText.restore(plan, sparkText, text), parameters);
    return ThriftStreamingSelects.markStatement(bound);
  }

  @Override
  public LogicalPlan parseQuery(String text) {
    return checked(text, () -> spark.parseQuery(FlinkText.toSpark(text)));
  }

  @Override
  public Expression parseExpression(String text) {
    return checked(text, () -> spark.parseExpression(text));
  }

  @Override
  public TableIdentifier parseTableIdentifier(String text) {
    return checked(text, () -> spark.parseTableIdentifier(text));
  }

  @Override
  public FunctionIdentifier parseFunctionIdentifier(String text) {
    return checked(text, () -> spark.parseFunctionIdentifier(text));
  }

  @Override
  public Seq<String> parseMultipartIdentifier(String text) {
    return checked(text, () -> spark.parseMultipartIdentifier(text));
  }

  /**
   * Uses Spark's own parser: that of Iceberg refuses the parameters of functions without a word.
   */
  @Override
  public StructType parseRoutineParam(String text) {
    return checked(text, () -> super.parseRoutineParam(text));
  }

  @Override
  public StructType parseTableSchema(String text) {
    return checked(text, () -> spark.parseTableSchema(text));
  }

  @Override
  public DataType parseDataType(String text) {
    return checked(text, () -> spark.parseDataType(text));
  }

  /** Calls the session's parser for a statement; a misspelled statement of JetSQL has its error. */
  private LogicalPlan parsed(String text, Callable<LogicalPlan> parse) {
    try {
      return parse.call();
    } catch (StackOverflowError e) {
      throw StatementLimits.stackOverflow();
    } catch (ParseException e) {
      EngineStatements.refuseMisspelled(session, text);
      throw Exceptions.raise(e);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  /**
   * Calls the session's parser for a text within the limits. Spark's own parser declares no
   * exception, but throws the same.
   */
  private static <T> T checked(String text, Callable<T> parse) {
    StatementLimits.check(text);
    try {
      return parse.call();
    } catch (StackOverflowError e) {
      throw StatementLimits.stackOverflow();
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }
}
