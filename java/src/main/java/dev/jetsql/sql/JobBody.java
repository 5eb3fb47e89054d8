package dev.jetsql.sql;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.functions.PythonFunctions;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.lookup.LookupJoinExec;
import dev.jetsql.plans.RuleProcessor;
import dev.jetsql.rewrites.BatchPart;
import dev.jetsql.rewrites.Branches;
import dev.jetsql.rewrites.RewrittenQuery;
import dev.jetsql.rewrites.RunOptions;
import dev.jetsql.rewrites.changes.ChangedResults;
import dev.jetsql.stream.IdleSources;
import dev.jetsql.stream.LateRows;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The body of a job, resolved by Spark's analyzer: the query to run, and facts about it as JSON.
 */
public final class JobBody {
  private static final int MAX_DEPTH = 50;

  private final SparkSession session;
  private final ObjectNode facts = Json.MAPPER.createObjectNode();
  private final Map<ExprId, Expression> definitions = new HashMap<>();
  private final Map<ExprId, Attribute> sourceColumns = new HashMap<>();
  private final LogicalPlan written;
  private final RewrittenQuery rewritten;
  private final Branches branches;

  private JobBody(
      SparkSession session, LogicalPlan command, RunOptions options, boolean appliesChanges) {
    this.session = session;
    this.branches = null;
    var query = readSink(command, facts);
    if (query != null && appliesChanges)
      facts.set("change_columns", Json.MAPPER.valueToTree(ChangeQuery.columns(query)));
    this.written = query != null && appliesChanges ? ChangeQuery.withDeleted(query) : query;
    var keyed = appliesChanges ? options : withKeys(options);
    this.rewritten = written == null ? null : RewrittenQuery.of(session, written, keyed);
    if (written != null) readQuery(options.modes());
  }

  private RunOptions withKeys(RunOptions options) {
    var provider = facts.path("sink").path("provider").asText();
    return options.withKeys(keyColumns(), CatalogTables.hasFormat(provider));
  }

  /** Returns the columns by which rows of the table are updated. */
  private List<String> keyColumns() {
    var options = facts.path("sink").path("options");
    for (var name : (Iterable<String>) options::fieldNames) {
      if (name.equalsIgnoreCase("key.columns"))
        return Arrays.stream(options.get(name).asText().split(","))
            .map(key -> key.strip().replaceAll("^[`\"]|[`\"]$", ""))
            .filter(key -> !key.isEmpty())
            .toList();
    }
    var fields = facts.path("sink").path("identifier_fields");
    return fields.isMissingNode() ? List.of() : Json.texts(fields);
  }

  private JobBody(SparkSession session, NewTable table, RunOptions options) {
    this.session = session;
    this.branches = null;
    this.written = table.query();
    if (table.facts() != null) facts.set("sink", table.facts());
    this.rewritten = RewrittenQuery.of(session, written, withKeys(options));
    readQuery(options.modes());
  }

  private JobBody(BranchedInsert insert, RunOptions options) {
    this.session = insert.session();
    var described = facts.putArray("branches");
    var queries = new ArrayList<LogicalPlan>();
    for (var each : insert.commands()) {
      var query = readSink(each, described.addObject());
      if (query != null) queries.add(query);
    }
    this.branches =
        queries.size() == described.size() ? Branches.of(insert.source(), queries) : null;
    this.written = branches == null ? null : branches.source();
    this.rewritten = written == null ? null : RewrittenQuery.of(insert.session(), written, options);
    if (written == null) return;
    for (int i = 0; i < queries.size(); i++) {
      var facts = (ObjectNode) described.get(i);
      facts.put("refused", Branches.refused(queries.get(i)));
      nodes(queries.get(i)).forEach(node -> readVarying(node, facts));
    }
    var unstorable = branches.unstorable();
    if (unstorable != null)
      facts.put("unstorable", unstorable.name() + " " + typeText(unstorable.dataType()));
    readQuery(options.modes());
  }

  /** Returns the body of several INSERTs. modes, stateTtlMillis: see `analyze` */
  public static JobBody of(BranchedInsert insert, String modes, long stateTtlMillis) {
    return inSession(
        insert.session(), () -> new JobBody(insert, RunOptions.of(modes, stateTtlMillis)));
  }

  /**
   * Resolves an INSERT, or the CREATE TABLE ... AS of a table that does not exist, in the session.
   * Throws Spark's errors, with positions in `text`.
   *
   * @param modes the output modes in which the statement may write, separated by commas; the first
   *     possible one decides how the query is rewritten
   * @param stateTtlMillis the time to live of state that no watermark removes; 0 for ever
   * @param clauses the clauses of AUTO CDC, see `ChangeQuery`, or null for an INSERT
   * @param columns the columns that an INSERT without a list of columns writes, a JSON array; null
   *     for all columns of the table
   */
  public static JobBody analyze(
      SparkSession session,
      String text,
      String modes,
      long stateTtlMillis,
      String clauses,
      String columns) {
    var options = RunOptions.of(modes, stateTtlMillis);
    return inSession(session, () -> resolve(session, text, options, clauses, columns));
  }

  /** Runs an analysis of a job in a session. */
  static <T> T inSession(SparkSession session, Supplier<T> analysis) {
    // The analyzer reads settings (time zone, ANSI mode) from the thread's active session.
    return Sessions.active(session, () -> JobContext.analyze(analysis));
  }

  private static JobBody resolve(
      SparkSession session, String text, RunOptions options, String clauses, String columns) {
    var state = session.sessionState();
    var parser = state.sqlParser();
    try {
      var statement = parser.parsePlan(text);
      if (statement instanceof CreateTableAsSelect create)
        return new JobBody(session, NewTable.resolve(session, create), options);
      var insert = columns == null ? statement : withColumns(statement, columns);
      var parsed = clauses == null ? insert : ChangeQuery.of(parser, insert, clauses);
      return new JobBody(
          session,
          state.analyzer().executeAndCheck(parsed, new QueryPlanningTracker(Option.empty())),
          options,
          clauses != null);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  private static LogicalPlan withColumns(LogicalPlan statement, String columns) {
    if (!(statement instanceof InsertIntoStatement insert)
        || !insert.userSpecifiedCols().isEmpty()
        || !insert.partitionSpec().isEmpty()
        || insert.byName()) return statement;
    return CaseClasses.copy(
        insert, Map.of("userSpecifiedCols", Sequences.of(Json.readTexts(columns))));
  }

  /** Returns the query as it was written, or null for a command that is no INSERT. */
  public LogicalPlan written() {
    return written;
  }

  /** Returns the query as Spark runs it, or null for a command that is no INSERT. */
  public LogicalPlan query() {
    return rewritten == null ? null : rewritten.query();
  }

  /** Returns what runs over the rows of each batch of the query, or null. */
  public BatchPart batchPart() {
    return rewritten == null ? null : rewritten.batchPart();
  }

  /** Returns the queries of a body with several INSERTs; empty for any other body. */
  public List<BatchPart> branchParts() {
    return branches == null ? List.of() : branches.parts();
  }

  /** Returns the facts as a JSON object. */
  public String facts() {
    return Json.write(facts);
  }

  private static LogicalPlan readSink(LogicalPlan command, ObjectNode facts) {
    facts.put("command", command.getClass().getSimpleName());
    if (command instanceof InsertIntoHadoopFsRelationCommand insert) {
      facts.put("dynamic", insert.dynamicPartitionOverwrite());
      facts.put("static_partitions", insert.staticPartitions().size());
      describeSink(insert.catalogTable(), facts);
      return insert.query();
    }
    if (command instanceof InsertIntoDataSourceCommand insert) {
      describeSink(insert.logicalRelation().catalogTable(), facts);
      return insert.query();
    }
    if (command instanceof V2WriteCommand write
        && write.table() instanceof DataSourceV2Relation relation
        && relation.identifier().isDefined()) {
      facts.put("replaces_part", replacesPart(write));
      facts.put("replaces_partitions", write.getClass().getSimpleName().contains("Dynamic"));
      facts.set(
          "sink",
          CatalogTables.facts(
              catalogName(relation.catalog()), relation.identifier().get(), relation.table()));
      return withoutNullChecks(write.query());
    }
    return null;
  }

  /**
   * Returns a query without the checks of columns that are NOT NULL. Spark makes them again when it
   * writes the rows of a batch, and a row that deletes its key may have NULL there.
   */
  private static LogicalPlan withoutNullChecks(LogicalPlan query) {
    return query instanceof Project project
        ? project.transformExpressions(
            PartialFunctions.<Expression, Expression>of(
                AssertNotNull.class::isInstance, node -> ((AssertNotNull) node).child()))
        : query;
  }

  /**
   * Returns whether a write replaces the partitions of the new rows, or the rows that meet a
   * condition. For the former, Spark has `OverwritePartitionsDynamic`, and Delta
   * `DeltaDynamicPartitionOverwriteCommand`.
   */
  private static boolean replacesPart(V2WriteCommand write) {
    if (write instanceof AppendData) return false;
    return !(write instanceof OverwriteByExpression overwrite)
        || !overwrite.deleteExpr().equals(Literal$.MODULE$.TrueLiteral());
  }

  private static void describeSink(Option<CatalogTable> table, ObjectNode facts) {
    if (table.isDefined()) facts.set("sink", Tables.facts(table.get()));
  }

  private void readQuery(List<OutputMode> modes) {
    facts.put("streaming", written.isStreaming());
    facts.put("schema", typeText(written.schema()));
    var sources = facts.putArray("sources");
    var statics = facts.putArray("statics");
    var readOnce = facts.putArray("read_once");
    var views = facts.putArray("temporary_views");
    var variables = facts.putArray("variables");
    var functions = facts.putObject("functions");
    var nodes = new ArrayList<>(nodes(written));
    branchParts().forEach(part -> nodes.addAll(nodes(part.body())));
    for (var node : nodes) {
      readLeaf(node, sources, statics);
      var table = readOnce(node);
      if (table != null) readOnce.add(table);
      if (node instanceof View view && view.isTempView())
        views.add(view.desc().identifier().unquotedString());
      readExpressions(node, variables);
      PythonFunctions.collect(expressions(node), functions);
    }
    nodes.forEach(this::readMessageColumns);
    if (written.isStreaming()) readStream(modes);
  }

  private static List<LogicalPlan> nodes(LogicalPlan plan) {
    return CollectionConverters.asJava(plan.collectWithSubqueries(PartialFunctions.everything()));
  }

  /** Records the columns that are decoded from a Kafka message as columns of their source. */
  private void readMessageColumns(LogicalPlan node) {
    for (var expression : expressions(node)) {
      if (!(expression instanceof Alias alias) || !alias.metadata().contains(KafkaTable.IS_COLUMN))
        continue;
      var column = alias.toAttribute();
      var sibling = node.collectLeaves().head().output().head();
      var sourceColumn = sourceColumns.get(sibling.exprId());
      if (sourceColumn != null) {
        var source = sourceColumn.name().substring(0, sourceColumn.name().indexOf('.'));
        sourceColumns.put(column.exprId(), qualify(column, source));
      }
    }
  }

  private static Attribute qualify(Attribute column, String source) {
    return column.withName(source + "." + column.name()).withQualifier(Sequences.of());
  }

  private static List<Expression> expressions(LogicalPlan node) {
    return CollectionConverters.asJava(node.expressions());
  }

  private void readLeaf(LogicalPlan node, ArrayNode sources, ArrayNode statics) {
    if (node instanceof StreamingRelation relation) {
      sources.add(source(relation, sources.size()));
    } else if (node instanceof StreamingRelationV2 relation) {
      sources.add(source(relation, sources.size()));
    } else if (node instanceof LogicalRelation relation
        && relation.relation() instanceof HadoopFsRelation) {
      if (relation.catalogTable().isDefined())
        statics.add(Tables.facts(relation.catalogTable().get()));
    }
  }

  /** Returns the facts of a table that is read once, or null for rows of another kind. */
  private ObjectNode readOnce(LogicalPlan node) {
    if (node instanceof LogicalRelation relation && relation.catalogTable().isDefined())
      return Tables.facts(relation.catalogTable().get());
    if (node instanceof DataSourceV2Relation relation && relation.identifier().isDefined())
      return CatalogTables.facts(
          catalogName(relation.catalog()), relation.identifier().get(), relation.table());
    return null;
  }

  private ObjectNode source(StreamingRelation relation, int ordinal) {
    var read = relation.dataSource();
    var source = source(relation.sourceName(), ordinal, relation);
    source.set("options", Json.MAPPER.valueToTree(CollectionConverters.asJava(read.options())));
    source.put("format", read.className());
    if (read.catalogTable().isDefined())
      describe(CatalogTables.withFormat(session, Tables.facts(read.catalogTable().get())), source);
    return source;
  }

  private ObjectNode source(StreamingRelationV2 relation, int ordinal) {
    var source = source(relation.sourceName(), ordinal, relation);
    source.put("format", relation.table().getClass().getSimpleName());
    source.set("options", Json.MAPPER.valueToTree(relation.extraOptions().asCaseSensitiveMap()));
    if (relation.identifier().isDefined()) {
      var table =
          CatalogTables.facts(
              catalogName(relation.catalog()), relation.identifier().get(), relation.table());
      var provider = table.get("provider").asText();
      if (CatalogTables.hasFormat(provider)) {
        source.put("format", provider);
        describe(table, source);
      } else {
        source.set("table", table.get("table"));
      }
    }
    KafkaTable.describe(relation.extraOptions(), source);
    return source;
  }

  private static void describe(ObjectNode table, ObjectNode source) {
    for (var fact : List.of("table", "location", "created")) source.set(fact, table.get(fact));
    if (table.has("identity")) source.set("identity", table.get("identity"));
  }

  private static String catalogName(Option<CatalogPlugin> catalog) {
    return catalog.isDefined() ? catalog.get().name() : Tables.CATALOG;
  }

  private ObjectNode source(String name, int ordinal, LogicalPlan node) {
    for (var column : CollectionConverters.asJava(node.output())) {
      sourceColumns.put(column.exprId(), qualify(column, QueryFlow.SOURCE + ordinal));
    }
    return Json.MAPPER.createObjectNode().put("name", name);
  }

  private void readExpressions(LogicalPlan node, ArrayNode variables) {
    for (var expression : expressions(node)) {
      for (var part :
          CollectionConverters.asJava(expression.collect(PartialFunctions.everything()))) {
        if (part instanceof VariableReference variable) variables.add(variable.identifier().name());
      }
    }
    readDefinitions(node);
  }

  private void readDefinitions(LogicalPlan node) {
    // The conversion of an operator's rows is no part of what they mean.
    if (node instanceof SerializeFromObject && ChangedResults.isUsed(node)) return;
    for (var expression : expressions(node)) {
      for (var part :
          CollectionConverters.asJava(expression.collect(PartialFunctions.everything()))) {
        if (part instanceof Alias alias) definitions.put(alias.exprId(), alias.child());
      }
    }
  }

  private void readStream(List<OutputMode> requested) {
    readModes(requested);
    var rules = facts.putArray("rules");
    for (var rule : rewritten.rules()) {
      rules
          .addObject()
          .put("rule", rule.name())
          .put("version", rule.version())
          .put("meaning", rule.meaning())
          .put("caution", rule.caution());
    }
    facts.put("marks_deleted", rewritten.marksDeleted());
    if (rewritten.batchPart() != null) facts.put("batch_part", rewritten.batchPart().meaning());
    var nodes = nodes(rewritten.query());
    for (var node : nodes) readDefinitions(node);
    var stateful = facts.putArray("stateful");
    facts.put("late_rows", LateRows.refusal(rewritten.query()));
    facts.put("idle_sources", IdleSources.refusal(rewritten.query()));
    facts.put("aggregates", false);
    facts.put("watermark", false);
    QueryFlow.describe(rewritten.query(), sourceColumns, facts);
    for (var node : nodes) {
      if (!node.isStreaming()) continue;
      if (node instanceof Aggregate || node instanceof Distinct) facts.put("aggregates", true);
      if (node instanceof EventTimeWatermark) facts.put("watermark", true);
      if (QueryFlow.isListed(node)) stateful.add(describeOperator(node));
      else if (node instanceof Join) facts.put("joins", true);
    }
    nodes.forEach(node -> readVarying(node, facts));
  }

  /**
   * Records what may change when Spark repeats a batch: "varying" is an expression that may return
   * other values, "spread" a node that may distribute the rows to other partitions.
   */
  private static void readVarying(LogicalPlan node, ObjectNode facts) {
    var isHash =
        node instanceof RepartitionByExpression repartition && isHashPartitioned(repartition);
    var spreads = node instanceof RepartitionOperation || node instanceof RebalancePartitions;
    if (spreads && !isHash) facts.put("spread", node.nodeName());
    for (var expression : expressions(node)) {
      if (!expression.deterministic()) facts.put("varying", innermost(expression).sql());
    }
  }

  private static boolean isHashPartitioned(RepartitionByExpression node) {
    var by = CollectionConverters.asJava(node.partitionExpressions());
    return !by.isEmpty() && by.stream().noneMatch(SortOrder.class::isInstance);
  }

  private static Expression innermost(Expression varying) {
    return CollectionConverters.asJava(varying.children()).stream()
        .filter(child -> !child.deterministic())
        .findFirst()
        .map(JobBody::innermost)
        .orElse(varying);
  }

  /**
   * Records why an output mode is not possible, for a requested mode also by Spark's planner, and
   * the state that is kept for ever and the lookups in the first possible mode.
   */
  private void readModes(List<OutputMode> requested) {
    LookupJoinExec.checkOptions(written);
    var reasons = facts.putObject("modes");
    var check = rewritten.check();
    var kept = facts.putArray("kept_state");
    var lookups = facts.putArray("lookups");
    for (var mode : List.of(OutputMode.Append(), OutputMode.Update(), OutputMode.Complete())) {
      var reason = requested.contains(mode) ? check.reason(mode) : check.logicalReason(mode);
      reasons.put(nameOf(mode), reason);
      if (reason == null && check.mustBypass(mode)) facts.put("unchecked_by_spark", true);
    }
    requested.stream()
        .filter(mode -> reasons.get(nameOf(mode)).isNull())
        .findFirst()
        .ifPresent(
            mode -> {
              check.keptState(mode).forEach(kept::add);
              LookupJoinExec.describe(check.batchPlan(mode)).forEach(lookups::add);
            });
  }

  private static String nameOf(OutputMode mode) {
    return mode.toString().toLowerCase(Locale.ROOT);
  }

  /**
   * Describes an operator by its expressions, in which definitions replace names, down to the
   * source's columns.
   */
  private ObjectNode describeOperator(LogicalPlan node) {
    var text = new StringJoiner("; ");
    var processor = RuleProcessor.of(node);
    for (var expression : processor == null ? expressions(node) : processor.stateExpressions()) {
      var expanded = expand(expression, 0);
      text.add(expanded.sql() + ": " + typeText(expanded.dataType()));
    }
    if (processor != null) text.add(processor.state());
    if (node instanceof Join join) text.add(join.joinType().sql());
    if (node instanceof EventTimeWatermark watermark) text.add("delay " + watermark.delay());
    var kind = node.getClass().getSimpleName();
    return Json.MAPPER.createObjectNode().put("kind", kind).put("meaning", text.toString());
  }

  /**
   * Returns a type without the default collation, which SHOW CREATE TABLE adds to the types of
   * CREATE TABLE.
   */
  private static String typeText(DataType type) {
    return type.catalogString().replace(" collate UTF8_BINARY", "");
  }

  private Expression expand(Expression expression, int depth) {
    if (depth > MAX_DEPTH) return expression;
    return expression.transformUp(
        PartialFunctions.of(
            node -> node instanceof Attribute || node instanceof Alias || node instanceof PythonUDF,
            node -> definition(node, depth)));
  }

  private Expression definition(Expression node, int depth) {
    if (node instanceof Alias alias) return alias.child();
    if (node instanceof PythonUDF call) return PythonFunctions.withFingerprint(call);
    var id = ((Attribute) node).exprId();
    if (sourceColumns.containsKey(id)) return sourceColumns.get(id);
    var definition = definitions.get(id);
    return definition == null ? node : expand(definition, depth + 1);
  }
}
