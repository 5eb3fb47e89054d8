package dev.jetsql.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Json;
import dev.jetsql.common.Principals;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.FunctionSignature;
import org.apache.spark.sql.catalyst.plans.logical.InputParameter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.NamedParametersSupport;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.state.StateSourceOptions$;
import org.apache.spark.sql.execution.datasources.v2.state.metadata.StateMetadataPartitionReader;
import org.apache.spark.sql.execution.datasources.v2.state.metadata.StateMetadataTableEntry;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The table function `jetsql.state(job [, operator [, part]])`: the state of a job's operator, as
 * of the newest committed batch.
 *
 * <p>Spark's data source `statestore` reads the files of the checkpoint and changes none of them,
 * so the job continues meanwhile. It needs the settings with which the job writes its state, which
 * a user's session does not have: a session of its own opens the source.
 */
public final class JobState {
  static final String NAME = "state";

  private static final String JOIN = "symmetricHashJoin";
  private static final String WITH_STATE = "transformWithState";
  private static final String USAGE = "jetsql.state('job'[, operator[, 'part']])";

  private final SparkSession session;
  private final Origin origin;
  private final String job;
  private final Long operator;
  private final String part;

  private JobState(SparkSession session, UnresolvedTableValuedFunction call) {
    this.session = session;
    this.origin = call.origin();
    var arguments = arguments(call);
    this.job = text(arguments.get(0), "job");
    this.operator = number(arguments.get(1));
    this.part = text(arguments.get(2), "part");
    if (job == null) throw wrongCall("needs the name of a job");
  }

  static boolean isCalled(String schema, String name) {
    return EngineCallback.isConnected()
        && schema.equalsIgnoreCase(LiveTables.SCHEMA)
        && name.equalsIgnoreCase(NAME);
  }

  /** Returns the relation for a call. Throws an error at the call. */
  static LogicalPlan plan(SparkSession session, UnresolvedTableValuedFunction call) {
    if (call.isStreaming() || JobContext.isAnalyzing()) {
      throw Exceptions.raise(
          JetSqlException.at(
              call.origin(),
              "UNSUPPORTED_QUERY",
              "0A000",
              "A job cannot read jetsql.state: it is the state after one batch. Copy the rows into"
                  + " a table with CREATE TABLE ... AS SELECT, and read that table."));
    }
    return new JobState(session, call).read();
  }

  private LogicalPlan read() {
    var found = EngineCallback.FIND_STATE.ask(null, Map.of("job", job), origin);
    var path = found.get("path").asText();
    var batch = found.get("batch").asLong();
    var reader = openSession(found.get("confs")).read().format("statestore");
    var entry = choose(found.get("job").asText(), operators(path, batch));
    options(entry).forEach(reader::option);
    reader.option(StateSourceOptions$.MODULE$.BATCH_ID(), batch);
    return ((Dataset<?>) reader.load(path)).queryExecution().analyzed();
  }

  private SparkSession openSession(JsonNode confs) {
    var opened = session.newSession();
    Principals.setSystem(opened);
    confs.properties().forEach(conf -> opened.conf().set(conf.getKey(), conf.getValue().asText()));
    return opened;
  }

  /** Returns the first store of each operator with state, in the order of their numbers. */
  private List<StateMetadataTableEntry> operators(String path, long batch) {
    var hadoop = new SerializableConfiguration(session.sessionState().newHadoopConf());
    var reader = new StateMetadataPartitionReader(path, hadoop, batch);
    var operators = new LinkedHashMap<Long, StateMetadataTableEntry>();
    CollectionConverters.asJava(reader.stateMetadata())
        .forEachRemaining(entry -> operators.putIfAbsent(entry.operatorId(), entry));
    return operators.values().stream()
        .sorted((one, other) -> Long.compare(one.operatorId(), other.operatorId()))
        .toList();
  }

  private StateMetadataTableEntry choose(String name, List<StateMetadataTableEntry> operators) {
    if (operators.isEmpty()) {
      throw notFound(
          "The job "
              + name
              + " has no state: its query has no aggregate, no join of streams and no"
              + " deduplication.");
    }
    if (operator == null && operators.size() == 1) return operators.get(0);
    var chosen =
        operators.stream()
            .filter(entry -> operator != null && entry.operatorId() == operator)
            .findFirst();
    if (chosen.isPresent()) return chosen.get();
    var names = operators.stream().map(e -> e.operatorId() + " (" + e.operatorName() + ")");
    throw notFound(
        (operator == null
                ? "The job " + name + " has several operators with state."
                : "The job " + name + " has no operator " + operator + " with state.")
            + " Write one of these numbers as the second argument of jetsql.state: "
            + String.join(", ", names.toList())
            + ".");
  }

  /** Returns the options of Spark's source for an operator. */
  private Map<String, String> options(StateMetadataTableEntry entry) {
    var names = StateSourceOptions$.MODULE$;
    var options = new LinkedHashMap<String, String>();
    options.put(names.OPERATOR_ID(), Long.toString(entry.operatorId()));
    var parts = parts(entry);
    if (parts.isEmpty()) {
      if (part != null)
        throw wrongCall("takes no part for the operator " + describe(entry) + ": it has only one");
      return options;
    }
    if (part == null || !parts.contains(part)) {
      throw notFound(
          "The operator "
              + describe(entry)
              + " keeps its state in parts. Write one of them as the third argument of"
              + " jetsql.state: '"
              + String.join("', '", parts)
              + "'.");
    }
    options.put(isJoin(entry) ? names.JOIN_SIDE() : names.STATE_VAR_NAME(), part);
    return options;
  }

  /** Returns the names of the parts of an operator's state: none if it has a single one. */
  private static List<String> parts(StateMetadataTableEntry entry) {
    if (isJoin(entry)) return List.of("left", "right");
    var parts = new ArrayList<String>();
    if (entry.operatorName().startsWith(WITH_STATE)) {
      Json.read(entry.operatorPropertiesJson())
          .path("stateVariables")
          .forEach(variable -> parts.add(variable.get("stateName").asText()));
    }
    return parts;
  }

  private static boolean isJoin(StateMetadataTableEntry entry) {
    return entry.operatorName().startsWith(JOIN);
  }

  private static String describe(StateMetadataTableEntry entry) {
    return entry.operatorId() + " (" + entry.operatorName() + ")";
  }

  private List<Expression> arguments(UnresolvedTableValuedFunction call) {
    var none = Option.<Expression>apply(new Literal(null, DataTypes.NullType));
    var signature =
        new FunctionSignature(
            Sequences.of(
                List.of(
                    new InputParameter("job", Option.empty()),
                    new InputParameter("operator", none),
                    new InputParameter("part", none))));
    Seq<Expression> ordered =
        NamedParametersSupport.defaultRearrange(
            signature,
            call.functionArgs(),
            "jetsql.state",
            (one, other) -> one.equalsIgnoreCase(other));
    return CollectionConverters.asJava(ordered);
  }

  private String text(Expression argument, String name) {
    var value = value(argument);
    if (value == null) return null;
    if (value instanceof org.apache.spark.unsafe.types.UTF8String text) return text.toString();
    throw wrongCall("takes a text as " + name);
  }

  private Long number(Expression argument) {
    var value = value(argument);
    if (value == null) return null;
    if (value instanceof Integer || value instanceof Long || value instanceof Short)
      return ((Number) value).longValue();
    throw wrongCall("takes a whole number as operator");
  }

  private Object value(Expression argument) {
    if (!argument.resolved() || !argument.foldable()) throw wrongCall("takes only constants");
    return argument.eval(InternalRow.empty());
  }

  private RuntimeException wrongCall(String problem) {
    return Exceptions.raise(
        JetSqlException.at(
            origin,
            "WRONG_FUNCTION_CALL",
            "42809",
            "The function jetsql.state " + problem + ". Write " + USAGE + "."));
  }

  private RuntimeException notFound(String message) {
    return Exceptions.raise(JetSqlException.at(origin, "STATE_NOT_FOUND", "42704", message));
  }
}
