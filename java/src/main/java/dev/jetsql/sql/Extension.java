package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.common.PythonResponses;
import dev.jetsql.kafka.KafkaRead;
import dev.jetsql.kafka.KafkaTables;
import dev.jetsql.stream.ThriftStreamingSelects;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Teaches Spark's parser the statements of JetSQL: a proxy around Spark's own parser, installed through
 * SparkSessionExtensions, so that every door of a session speaks them.
 *
 * Parsing has no side effect. The answer to one of our statements is a command, which Spark runs exactly once, whichever
 * client sent it. What we don't know goes to Spark's parser untouched.
 *
 * A regular expression from the engine (Python) spares Spark's own statements the call to it. The engine answers through
 * two functions of (session, text). All three are null while no engine is open:
 *   describe: null for a statement that is not ours, else {"columns": DDL}, or an error;
 *   execute:  {"columns": DDL, "rows": [[...]]}, or an error; it can be cancelled, see `PythonCalls`.
 * An error is {"error": {message, condition, sqlstate, line, position}}, or the Throwable itself when it came from Spark.
 */
public class Extension {
  private static volatile Pattern filter;
  private static volatile BiFunction describe;
  private static volatile BiFunction execute;

  /** Tie the statements to an engine; nulls untie them. */
  public static void connect(String statementFilter, BiFunction describeStatement, BiFunction executeStatement) {
    filter = statementFilter == null ? null : Pattern.compile(statementFilter, Pattern.UNICODE_CHARACTER_CLASS);
    describe = describeStatement;
    execute = executeStatement;
  }

  /** Whether a session parses through us already. */
  static boolean taught(org.apache.spark.sql.classic.SparkSession session) {
    return session.sessionState().sqlParser() instanceof Parser;
  }

  /** Register everything that later sessions of these extensions are built with. */
  static void inject(SparkSessionExtensions extensions) {
    extensions.injectParser(new ParserBuilder());
    extensions.injectHintResolutionRule(new Relations.FreshTables());
    extensions.injectCheckRule(new Relations.StreamsOutsideJobs());
    extensions.injectPostHocResolutionRule(new KafkaRead.Sources());
    extensions.injectResolutionRule(new KafkaTables.Made());
    extensions.injectPostHocResolutionRule(new Secrets.InQueries());
    extensions.injectPostHocResolutionRule(
        session -> new ThriftStreamingSelects((org.apache.spark.sql.classic.SparkSession) session));
    extensions.injectPreCBORule(new Relations.StaticSides());
  }

  public static class ParserBuilder extends scala.runtime.AbstractFunction2 {
    public Object apply(Object session, Object delegate) { return new Parser(session, (ParserInterface) delegate); }
  }

  /** The command for a statement of ours; null for everything else. */
  static LogicalPlan command(Object session, String text) {
    BiFunction engine = describe;
    Pattern ours = filter;
    if (engine == null || ours == null || !ours.matcher(text).lookingAt()) return null;
    try {
      return Statements.command(session, text, engine);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  static class Statements {
    static LogicalPlan command(Object session, String text, BiFunction describe) throws Exception {
      JsonNode answer = PythonResponses.of(PythonCalls.ask(describe, session, text));
      if (answer == null) return null;
      StructType columns = StructType.fromDDL(answer.get("columns").asText());
      return new Command(text, (Seq) DataTypeUtils.toAttributes(columns), columns);
    }
  }

  /** A statement of ours in Spark's plan. */
  public static class Command extends OneStep {
    private final String text;
    private final Seq output;
    private final StructType columns;

    public Command(String text, Seq output, StructType columns) {
      super(new Object[] {text, output, columns});
      this.text = text;
      this.output = output;
      this.columns = columns;
    }

    public Seq run(SparkSession session) {
      BiFunction engine = execute;
      if (engine == null) throw Exceptions.raise(JetSqlException.closed());
      try {
        return PythonResponses.rows(PythonResponses.of(PythonCalls.run(engine, session, text)), columns);
      } catch (Exception e) {
        throw Exceptions.raise(e);
      }
    }

    public Seq output() { return output; }
  }
}
