package dev.jetsql;

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
 *   execute:  {"columns": DDL, "rows": [[...]]}, or an error; it can be cancelled, see `Calls`.
 * An error is {"error": {message, condition, sqlstate, line, position}}, or the Throwable itself when it came from Spark.
 */
public class Extension {
  static final ObjectMapper JSON = new ObjectMapper();
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
    extensions.injectPostHocResolutionRule(new Looks.InThriftSessions());
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
      throw Answers.raise(e);
    }
  }

  static class Statements {
    static LogicalPlan command(Object session, String text, BiFunction describe) throws Exception {
      JsonNode answer = Answers.of(Calls.ask(describe, session, text));
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
      if (engine == null) throw Answers.raise(Failure.closed());
      try {
        return Answers.rows(Answers.of(Calls.run(engine, session, text)), columns);
      } catch (Exception e) {
        throw Answers.raise(e);
      }
    }

    public Seq output() { return output; }
  }

  /** Our errors as Spark's clients know errors: condition, SQLSTATE, line and position. */
  public static class Failure extends AnalysisException {
    Failure(String message, Option line, Option position, String condition, String state) {
      super(message, line, position, Option.empty(), Option.apply((Object) condition),
          (scala.collection.immutable.Map) Map$.MODULE$.empty(), new QueryContext[0], Option.apply((Object) state),
          Option.empty());
    }

    /** What the Thrift server makes its message of: without the name of this class. */
    public String toString() { return getMessage(); }

    static Failure closed() { return of("ENGINE_NOT_STARTED", "58000", "The engine was closed."); }

    static Failure of(String condition, String state, String message) {
      return at(Option.empty(), Option.empty(), condition, state, message);
    }

    /** At the place of a node in the statement. */
    static Failure at(Origin place, String condition, String state, String message) {
      return at(place.line(), place.startPosition(), condition, state, message);
    }

    private static Failure at(Option line, Option position, String condition, String state, String message) {
      String name = "JETSQL." + condition;
      return new Failure("[" + name + "] " + message + " SQLSTATE: " + state, line, position, name, state);
    }

    static Failure of(JsonNode error) {
      Option line = error.hasNonNull("line") ? Option.apply((Object) Integer.valueOf(error.get("line").asInt())) : Option.empty();
      Option position = error.hasNonNull("position")
          ? Option.apply((Object) Integer.valueOf(error.get("position").asInt())) : Option.empty();
      return new Failure(error.get("message").asText(), line, position, error.get("condition").asText(),
          error.get("sqlstate").asText());
    }
  }

  static class Answers {
    static JsonNode of(Object answer) throws Exception {
      if (answer == null) return null;
      if (answer instanceof Throwable) throw raise((Throwable) answer);
      JsonNode node = JSON.readTree((String) answer);
      if (node.has("error")) throw raise(Failure.of((JsonNode) node.get("error")));
      return node;
    }

    static Seq rows(JsonNode answer, StructType columns) {
      List rows = new ArrayList();
      JsonNode values = answer.get("rows");
      int[] places = new int[columns.length()];
      for (int k = 0; k < places.length; k++) places[k] = k;
      for (int i = 0; i < values.size(); i++) rows.add(row((JsonNode) values.get(i), columns, places));
      return CollectionConverters.asScala(rows).toSeq();
    }

    /** A row of these columns. places: where their values are in the array. */
    static Row row(JsonNode values, StructType columns, int[] places) {
      Object[] row = new Object[places.length];
      for (int k = 0; k < places.length; k++) row[k] = value((JsonNode) values.get(places[k]), columns.apply(k).dataType());
      return RowFactory.create(row);
    }

    private static Object value(JsonNode node, DataType type) {
      if (node.isNull()) return null;
      String name = type.typeName();
      if (name.equals("long")) return Long.valueOf(node.asLong());
      if (name.equals("integer")) return Integer.valueOf(node.asInt());
      if (name.equals("double")) return Double.valueOf(node.asDouble());
      if (name.equals("boolean")) return Boolean.valueOf(node.asBoolean());
      if (name.equals("timestamp")) return timestamp(node.asDouble());
      if (name.equals("array")) return CollectionConverters.asScala(items(node, ((ArrayType) type).elementType())).toSeq();
      if (name.equals("map")) return CollectionConverters.asScala(pairs(node, ((MapType) type).valueType()));
      return node.asText();
    }

    private static List items(JsonNode node, DataType type) {
      List items = new ArrayList();
      for (int i = 0; i < node.size(); i++) items.add(value((JsonNode) node.get(i), type));
      return items;
    }

    private static Map pairs(JsonNode node, DataType type) {
      Map pairs = new LinkedHashMap();
      Iterator each = node.fields();
      while (each.hasNext()) {
        Map.Entry entry = (Map.Entry) each.next();
        pairs.put(entry.getKey(), value((JsonNode) entry.getValue(), type));
      }
      return pairs;
    }

    /** Rounded to microseconds as Python does it: whoever hands the same value out there must come to the same. */
    private static Object timestamp(double seconds) {
      double whole = Math.floor(seconds);
      long micros = (long) whole * 1000000L + (long) Math.rint((seconds - whole) * 1000000.0);
      java.sql.Timestamp stamp = new java.sql.Timestamp(Math.floorDiv(micros, 1000000L) * 1000L);
      stamp.setNanos((int) Math.floorMod(micros, 1000000L) * 1000);
      boolean instants = org.apache.spark.sql.internal.SQLConf.get().datetimeJava8ApiEnabled();
      return instants ? (Object) stamp.toInstant() : stamp;
    }

    /** Throw anything; declared to return so that the compiler sees an end. */
    static RuntimeException raise(Throwable error) {
      Platform.throwException(error);
      return new RuntimeException(error);
    }
  }
}
