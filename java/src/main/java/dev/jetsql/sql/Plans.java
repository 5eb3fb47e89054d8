package dev.jetsql.sql;

import dev.jetsql.common.Json;
import dev.jetsql.kafka.KafkaTable;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker$;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** A job's body, resolved by Spark's analyzer: the query to run, and facts about it as JSON, read off in one call. */
public class Plans {
  private final LogicalPlan command;
  private LogicalPlan query;
  private final ObjectNode facts = Json.MAPPER.createObjectNode();
  private final Map definitions = new HashMap();
  private final Map sourceColumns = new HashMap();

  private Plans(LogicalPlan command) { this.command = command; }

  /** Resolve an INSERT in the session. Throws Spark's own errors, with positions in `text`. */
  public static Plans analyse(SparkSession session, String text) throws Exception {
    // The analyzer takes time zone, ANSI mode and the rest from the thread's active session.
    Option active = org.apache.spark.sql.SparkSession.getActiveSession();
    org.apache.spark.sql.SparkSession.setActiveSession(session);
    Relations.analyseForJob(true);
    try {
      LogicalPlan parsed = session.sessionState().sqlParser().parsePlan(text);
      Plans plans = new Plans(session.sessionState().analyzer().executeAndCheck(
          parsed, new QueryPlanningTracker(Option.empty())));
      plans.readSink();
      if (plans.query != null) plans.readQuery();
      return plans;
    } finally {
      Relations.analyseForJob(false);
      if (active.isDefined()) org.apache.spark.sql.SparkSession.setActiveSession((org.apache.spark.sql.SparkSession) active.get());
      else org.apache.spark.sql.SparkSession.clearActiveSession();
    }
  }

  public LogicalPlan query() { return query; }

  public String facts() throws Exception { return Json.MAPPER.writeValueAsString(facts); }

  private void readSink() {
    facts.put("command", command.getClass().getSimpleName());
    if (command instanceof InsertIntoHadoopFsRelationCommand) {
      InsertIntoHadoopFsRelationCommand insert = (InsertIntoHadoopFsRelationCommand) command;
      query = insert.query();
      facts.put("dynamic", insert.dynamicPartitionOverwrite());
      facts.put("static_partitions", insert.staticPartitions().size());
      describe(insert.catalogTable());
    } else if (command instanceof InsertIntoDataSourceCommand) {
      InsertIntoDataSourceCommand insert = (InsertIntoDataSourceCommand) command;
      query = insert.query();
      describe(insert.logicalRelation().catalogTable());
    }
  }

  private void describe(Option table) {
    if (table.isEmpty()) return;
    facts.set("sink", Tables.facts((CatalogTable) table.get()));
  }

  private void readQuery() {
    facts.put("streaming", query.isStreaming());
    facts.put("schema", words(query.schema()));
    ArrayNode sources = facts.putArray("sources");
    ArrayNode statics = facts.putArray("statics");
    ArrayNode views = facts.putArray("temporary_views");
    ArrayNode variables = facts.putArray("variables");
    List nodes = nodes();
    for (int i = 0; i < nodes.size(); i++) {
      LogicalPlan node = (LogicalPlan) nodes.get(i);
      readLeaf(node, sources, statics);
      if (node instanceof View && ((View) node).isTempView()) views.add(((View) node).desc().identifier().unquotedString());
      readExpressions(node, variables);
    }
    for (int i = 0; i < nodes.size(); i++) readColumns((LogicalPlan) nodes.get(i));
    if (query.isStreaming()) readStream(nodes);
  }

  /** Columns that are made of a message are their source's as well. */
  private void readColumns(LogicalPlan node) {
    Iterator expressions = node.expressions().iterator();
    while (expressions.hasNext()) {
      Object each = expressions.next();
      if (!(each instanceof Alias) || !((Alias) each).metadata().contains(KafkaTable.IS_COLUMN)) continue;
      Attribute column = ((Alias) each).toAttribute();
      Attribute beside = (Attribute) ((LogicalPlan) node.collectLeaves().head()).output().head();
      Attribute known = (Attribute) sourceColumns.get(beside.exprId());
      if (known != null) sourceColumns.put(column.exprId(), named(column, known.name().split("\\.")[0]));
    }
  }

  private static Attribute named(Attribute column, String source) {
    return column.withName(source + "." + column.name())
        .withQualifier((scala.collection.immutable.Seq) scala.collection.immutable.Nil$.MODULE$);
  }

  private List nodes() {
    List nodes = new ArrayList();
    Iterator each = query.collectWithSubqueries(new Everything()).iterator();
    while (each.hasNext()) nodes.add(each.next());
    return nodes;
  }

  public static class Everything extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) { return true; }
    public Object applyOrElse(Object node, scala.Function1 otherwise) { return node; }
  }

  private void readLeaf(LogicalPlan node, ArrayNode sources, ArrayNode statics) {
    if (node instanceof StreamingRelation) {
      StreamingRelation relation = (StreamingRelation) node;
      ObjectNode source = source(relation.sourceName(), sources.size(), node, relation.dataSource().options());
      if (relation.dataSource().catalogTable().isDefined()) {
        CatalogTable table = (CatalogTable) relation.dataSource().catalogTable().get();
        ObjectNode facts = Tables.facts(table);
        source.set("table", facts.get("table"));
        source.set("location", facts.get("location"));
        source.set("created", facts.get("created"));
      }
      source.put("format", relation.dataSource().className());
      sources.add(source);
    } else if (node instanceof StreamingRelationV2) {
      StreamingRelationV2 relation = (StreamingRelationV2) node;
      ObjectNode source = source(relation.sourceName(), sources.size(), node, null);
      source.put("format", relation.table().getClass().getSimpleName());
      source.set("options", Json.MAPPER.valueToTree(relation.extraOptions().asCaseSensitiveMap()));
      if (relation.identifier().isDefined()) source.put("table", "spark_catalog." + relation.identifier().get());
      KafkaTable.describe(relation.extraOptions(), source);
      sources.add(source);
    } else if (node instanceof LogicalRelation && ((LogicalRelation) node).relation() instanceof HadoopFsRelation) {
      Option table = ((LogicalRelation) node).catalogTable();
      if (table.isDefined()) statics.add(Tables.facts((CatalogTable) table.get()));
    }
  }

  private ObjectNode source(String name, int ordinal, LogicalPlan node, scala.collection.immutable.Map options) {
    ObjectNode source = Json.MAPPER.createObjectNode();
    source.put("name", name);
    source.put("format", name);
    if (options != null) source.set("options", Json.MAPPER.valueToTree(CollectionConverters.asJava(options)));
    Iterator columns = node.output().iterator();
    while (columns.hasNext()) {
      Attribute column = (Attribute) columns.next();
      sourceColumns.put(column.exprId(), named(column, "source" + ordinal));
    }
    return source;
  }

  private void readExpressions(LogicalPlan node, ArrayNode variables) {
    Iterator expressions = node.expressions().iterator();
    while (expressions.hasNext()) {
      Iterator parts = ((Expression) expressions.next()).collect(new Everything()).iterator();
      while (parts.hasNext()) {
        Object part = parts.next();
        if (part instanceof Alias) definitions.put(((Alias) part).exprId(), ((Alias) part).child());
        if (part instanceof VariableReference) variables.add(((VariableReference) part).identifier().name());
      }
    }
  }

  private void readStream(List nodes) {
    ObjectNode modes = facts.putObject("modes");
    modes.put("append", refusal(OutputMode.Append()));
    modes.put("update", refusal(OutputMode.Update()));
    modes.put("complete", refusal(OutputMode.Complete()));
    ArrayNode stateful = facts.putArray("stateful");
    facts.put("aggregates", false);
    facts.put("watermark", false);
    for (int i = 0; i < nodes.size(); i++) {
      LogicalPlan node = (LogicalPlan) nodes.get(i);
      if (!node.isStreaming()) continue;
      if (node instanceof Aggregate) facts.put("aggregates", true);
      if (node instanceof EventTimeWatermark) facts.put("watermark", true);
      if (keepsState(node)) stateful.add(operator(node));
      else if (node instanceof Join) facts.put("joins", true);
    }
    readVarying(nodes);
  }

  /** What may give other rows, or spread them otherwise, when a batch is repeated: {"varying", "spread"}, as SQL. */
  private void readVarying(List nodes) {
    for (int i = 0; i < nodes.size(); i++) {
      LogicalPlan node = (LogicalPlan) nodes.get(i);
      boolean byValues = node instanceof RepartitionByExpression && hashed((RepartitionByExpression) node);
      boolean spreads = node instanceof RepartitionOperation || node instanceof RebalancePartitions;
      if (spreads && !byValues) facts.put("spread", node.nodeName());
      Iterator expressions = node.expressions().iterator();
      while (expressions.hasNext()) {
        Expression expression = (Expression) expressions.next();
        if (!expression.deterministic()) facts.put("varying", innermost(expression).sql());
      }
    }
  }

  private static boolean hashed(RepartitionByExpression node) {
    Iterator by = node.partitionExpressions().iterator();
    boolean any = by.hasNext();
    while (by.hasNext()) if (by.next() instanceof SortOrder) return false;
    return any;
  }

  private static Expression innermost(Expression varying) {
    Iterator children = varying.children().iterator();
    while (children.hasNext()) {
      Expression child = (Expression) children.next();
      if (!child.deterministic()) return innermost(child);
    }
    return varying;
  }

  private String refusal(OutputMode mode) {
    try {
      UnsupportedOperationChecker$.MODULE$.checkForStreaming(query, mode);
      return null;
    } catch (Exception e) {
      return e instanceof AnalysisException ? ((AnalysisException) e).getSimpleMessage() : e.getMessage();
    }
  }

  private static boolean keepsState(LogicalPlan node) {
    if (node instanceof Join) return ((Join) node).left().isStreaming() && ((Join) node).right().isStreaming();
    String kind = node.getClass().getSimpleName();
    return node instanceof Aggregate || node instanceof EventTimeWatermark || node instanceof GlobalLimit
        || kind.startsWith("Deduplicate") || kind.equals("Distinct") || kind.contains("GroupsWithState")
        || kind.startsWith("TransformWithState") || kind.contains("InPandasWithState");
  }

  /** An operator with its expressions, names replaced by what they stand for down to the source's columns. */
  private ObjectNode operator(LogicalPlan node) {
    ObjectNode operator = Json.MAPPER.createObjectNode();
    operator.put("kind", node.getClass().getSimpleName());
    StringJoiner text = new StringJoiner("; ");
    Iterator expressions = node.expressions().iterator();
    while (expressions.hasNext()) {
      Expression meaning = expand((Expression) expressions.next(), 0);
      text.add(meaning.sql() + ": " + words(meaning.dataType()));
    }
    if (node instanceof Join) text.add(((Join) node).joinType().sql());
    if (node instanceof EventTimeWatermark) text.add("delay " + ((EventTimeWatermark) node).delay());
    operator.put("meaning", text.toString());
    return operator;
  }

  /** A type, the usual way of comparing texts unsaid: SHOW CREATE TABLE says it where CREATE TABLE had not. */
  private static String words(DataType type) { return type.catalogString().replace(" collate UTF8_BINARY", ""); }

  private Expression expand(Expression expression, int depth) {
    if (depth > 50) return expression;
    return (Expression) expression.transformUp(new Definition(this, depth));
  }

  static class Definition extends AbstractPartialFunction {
    private final Plans plans;
    private final int depth;

    Definition(Plans plans, int depth) {
      this.plans = plans;
      this.depth = depth;
    }

    public boolean isDefinedAt(Object node) { return node instanceof Attribute || node instanceof Alias; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (node instanceof Alias) return ((Alias) node).child();
      if (!(node instanceof Attribute)) return otherwise.apply(node);
      Object id = ((Attribute) node).exprId();
      if (plans.sourceColumns.containsKey(id)) return plans.sourceColumns.get(id);
      Object definition = plans.definitions.get(id);
      return definition == null ? node : plans.expand((Expression) definition, depth + 1);
    }
  }
}
