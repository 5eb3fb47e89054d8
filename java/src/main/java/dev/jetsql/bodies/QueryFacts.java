package dev.jetsql.bodies;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.catalog.Tables;
import dev.jetsql.common.Json;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.functions.PythonFunctions;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.lookup.LookupJoinExec;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RuleProcessor;
import dev.jetsql.records.FileStream;
import dev.jetsql.records.OnError;
import dev.jetsql.records.SourceColumns;
import dev.jetsql.rewrites.BatchPart;
import dev.jetsql.rewrites.RewrittenQuery;
import dev.jetsql.rewrites.changes.ChangedResults;
import dev.jetsql.stream.IdleSources;
import dev.jetsql.stream.LateRows;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What a job reads and keeps: sources, operators with state, and possible modes, as facts for JSON.
 */
final class QueryFacts {
  private static final int MAX_DEPTH = 50;

  private final SparkSession session;
  private final ObjectNode facts;
  private final LogicalPlan written;
  private final RewrittenQuery rewritten;
  private final List<BatchPart> branchParts;
  private final Map<ExprId, Expression> definitions = new HashMap<>();
  private final Map<ExprId, Attribute> sourceColumns = new HashMap<>();

  /**
   * Creates a reader.
   *
   * @param facts receives the facts
   * @param written the query as it was written
   * @param rewritten the query as Spark runs it
   * @param branchParts the queries of a body with several INSERTs
   */
  QueryFacts(
      SparkSession session,
      ObjectNode facts,
      LogicalPlan written,
      RewrittenQuery rewritten,
      List<BatchPart> branchParts) {
    this.session = session;
    this.facts = facts;
    this.written = written;
    this.rewritten = rewritten;
    this.branchParts = branchParts;
  }

  /** Reads the facts. modes: the output modes in which the statement may write */
  void read(List<OutputMode> modes) {
    facts.put("streaming", written.isStreaming());
    facts.put("schema", typeText(written.schema()));
    var sources = facts.putArray("sources");
    var statics = facts.putArray("statics");
    var readOnce = facts.putArray("read_once");
    var views = facts.putArray("temporary_views");
    var variables = facts.putArray("variables");
    var functions = facts.putObject("functions");
    var nodes = new ArrayList<>(nodes(written));
    for (var part : branchParts) nodes.addAll(nodes(part.body()));
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
      if (!(expression instanceof Alias alias) || !alias.metadata().contains(SourceColumns.KEY))
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
          CatalogTables.catalogName(relation.catalog()),
          relation.identifier().get(),
          relation.table());
    return null;
  }

  private ObjectNode source(StreamingRelation relation, int ordinal) {
    var read = relation.dataSource();
    var source = source(relation.sourceName(), ordinal, relation);
    source.set("options", Json.MAPPER.valueToTree(CollectionConverters.asJava(read.options())));
    source.put("format", FileStream.format(read));
    source.put("on_error", onError(read));
    if (read.catalogTable().isDefined())
      describe(CatalogTables.withFormat(session, Tables.facts(read.catalogTable().get())), source);
    return source;
  }

  /** Returns what applies to rows of a file that do not fit; null if nothing can be set. */
  private String onError(DataSource read) {
    var applied = read.options().get(OnError.APPLIED);
    if (applied.isDefined()) return applied.get();
    var stream = FileStream.of(session, read);
    return stream == null ? null : stream.onError();
  }

  private ObjectNode source(StreamingRelationV2 relation, int ordinal) {
    var source = source(relation.sourceName(), ordinal, relation);
    source.put("format", relation.table().getClass().getSimpleName());
    source.set("options", Json.MAPPER.valueToTree(relation.extraOptions().asCaseSensitiveMap()));
    if (relation.identifier().isDefined()) {
      var table =
          CatalogTables.facts(
              CatalogTables.catalogName(relation.catalog()),
              relation.identifier().get(),
              relation.table());
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
    var isComplete = requested.equals(List.of(OutputMode.Complete()));
    facts.put("late_rows", LateRows.refusal(rewritten.query(), isComplete));
    facts.put("idle_sources", IdleSources.refusal(rewritten.query()));
    facts.put("aggregates", false);
    facts.put("watermark", waitsForWatermark(nodes));
    QueryFlow.describe(rewritten.query(), sourceColumns, facts);
    for (var node : nodes) {
      if (!node.isStreaming()) continue;
      if (node instanceof Aggregate || node instanceof Distinct) facts.put("aggregates", true);
      if (QueryFlow.isListed(node)) stateful.add(describeOperator(node));
      else if (node instanceof Join) facts.put("joins", true);
    }
    nodes.forEach(node -> readVaryingNode(node, facts));
  }

  /** Returns whether a watermark returns rows: not where all state is removed by the clock. */
  private static boolean waitsForWatermark(List<LogicalPlan> nodes) {
    var hasWatermark =
        nodes.stream().anyMatch(node -> node instanceof EventTimeWatermark && node.isStreaming());
    var stateful =
        nodes.stream().filter(node -> node.isStreaming() && Plans.keepsState(node)).toList();
    return hasWatermark
        && (stateful.isEmpty() || !stateful.stream().allMatch(QueryFacts::isByClock));
  }

  private static boolean isByClock(LogicalPlan node) {
    var processor = RuleProcessor.of(node);
    return processor != null && processor.isByClock();
  }

  /** Records what may change when Spark repeats a batch of a query. */
  static void readVarying(LogicalPlan query, ObjectNode facts) {
    nodes(query).forEach(node -> readVaryingNode(node, facts));
  }

  /**
   * Records what may change when Spark repeats a batch: "varying" is an expression that may return
   * other values, "spread" a node that may distribute the rows to other partitions.
   */
  private static void readVaryingNode(LogicalPlan node, ObjectNode facts) {
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
        .map(QueryFacts::innermost)
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
      var reason = requested.contains(mode) ? check.refusal(mode) : check.logicalReason(mode);
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
   * source's columns. Casts that change no type are left out: a view casts each of its columns.
   * Earlier releases had them in their descriptions.
   */
  private ObjectNode describeOperator(LogicalPlan node) {
    var processor = RuleProcessor.of(node);
    var written = processor == null ? expressions(node) : processor.stateExpressions();
    var expanded = written.stream().map(each -> expand(each, 0)).toList();
    var plain = expanded.stream().map(QueryFacts::withoutEqualCasts).toList();
    var described =
        Json.MAPPER
            .createObjectNode()
            .put("kind", node.getClass().getSimpleName())
            .put("meaning", meaning(node, plain));
    return plain.equals(expanded)
        ? described
        : described.put("earlier_meaning", meaning(node, expanded));
  }

  private static String meaning(LogicalPlan node, List<Expression> expressions) {
    var text = new StringJoiner("; ");
    for (var each : expressions) text.add(each.sql() + ": " + typeText(each.dataType()));
    var processor = RuleProcessor.of(node);
    if (processor != null) text.add(processor.state());
    if (node instanceof Join join) text.add(join.joinType().sql());
    if (node instanceof EventTimeWatermark watermark) text.add("delay " + watermark.delay());
    return text.toString();
  }

  private static Expression withoutEqualCasts(Expression expression) {
    return expression.transformUp(
        PartialFunctions.of(
            node -> node instanceof Cast cast && cast.child().dataType().equals(cast.dataType()),
            node -> ((Cast) node).child()));
  }

  /**
   * Returns a type without the default collation, which SHOW CREATE TABLE adds to the types of
   * CREATE TABLE.
   */
  static String typeText(DataType type) {
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
