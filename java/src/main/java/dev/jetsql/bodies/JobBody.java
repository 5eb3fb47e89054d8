package dev.jetsql.bodies;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.catalog.MetastoreCache;
import dev.jetsql.common.ActiveSession;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Json;
import dev.jetsql.expectations.Conditions;
import dev.jetsql.lineage.LineageFacts;
import dev.jetsql.plans.JobColumns;
import dev.jetsql.plans.Plans;
import dev.jetsql.rewrites.BatchPart;
import dev.jetsql.rewrites.Branches;
import dev.jetsql.rewrites.RewrittenQuery;
import dev.jetsql.rewrites.RunOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Option;

/**
 * The body of a job, resolved by Spark's analyzer: the query to run, and facts about it as JSON.
 */
public final class JobBody {
  private final SparkSession session;
  private final ObjectNode facts = Json.MAPPER.createObjectNode();
  private final LogicalPlan written;
  private final RewrittenQuery rewritten;
  private final Branches branches;
  private final String rules;

  private JobBody(
      SparkSession session,
      LogicalPlan command,
      RunOptions options,
      boolean appliesChanges,
      String columns,
      String rules) {
    this.session = session;
    this.branches = null;
    this.rules = rules;
    var query = InsertFacts.read(command, columns, facts);
    if (query != null && appliesChanges)
      facts.set("change_columns", Json.MAPPER.valueToTree(ChangeQuery.columns(query)));
    this.written = query != null && appliesChanges ? ChangeQuery.withDeleted(query) : query;
    if (query != null) readRules(query, rules);
    var keyed = appliesChanges ? options : withKeys(options);
    this.rewritten = written == null ? null : RewrittenQuery.of(session, written, keyed);
    if (written != null) readQuery(options.modes());
  }

  private RunOptions withKeys(RunOptions options) {
    var sink = facts.path("sink");
    return options.withKeys(
        InsertFacts.keyColumns(sink), CatalogTables.hasFormat(sink.path("provider").asText()));
  }

  private JobBody(SparkSession session, NewTable table, RunOptions options, String rules) {
    this.session = session;
    this.branches = null;
    this.rules = rules;
    this.written = table.query();
    readRules(written, rules);
    if (table.facts() != null) facts.set("sink", table.facts());
    this.rewritten = RewrittenQuery.of(session, written, withKeys(options));
    readQuery(options.modes());
  }

  private JobBody(BranchedInsert insert, RunOptions options, String rules) {
    this.session = insert.session();
    this.rules = rules;
    var checked = readRules(insert.source(), rules);
    var described = facts.putArray("branches");
    var queries = new ArrayList<LogicalPlan>();
    for (var each : insert.commands()) {
      var query = InsertFacts.read(each.command(), each.columns(), described.addObject());
      if (query == null) continue;
      CaseTable.prepare(query);
      queries.add(query);
    }
    this.branches =
        queries.size() == described.size() ? Branches.of(insert.source(), queries, checked) : null;
    this.written = branches == null ? null : branches.source();
    this.rewritten = written == null ? null : RewrittenQuery.of(insert.session(), written, options);
    if (written == null) return;
    for (int i = 0; i < queries.size(); i++) {
      var facts = (ObjectNode) described.get(i);
      facts.put("refused", Branches.refused(queries.get(i)));
      QueryFacts.readVarying(queries.get(i), facts);
    }
    var unstorable = branches.unstorable();
    if (unstorable != null)
      facts.put("unstorable", unstorable.name() + " " + QueryFacts.typeText(unstorable.dataType()));
    readQuery(options.modes());
  }

  /** Resolves the rules of the rows, and returns the columns that they read. */
  private List<Attribute> readRules(LogicalPlan rows, String rules) {
    return Conditions.describe(
        session, Plans.list(rows.output()), rules, facts.putArray("expectations"));
  }

  private void readQuery(List<OutputMode> modes) {
    CaseTable.prepare(written);
    new QueryFacts(session, facts, written, rewritten, branchParts()).read(modes);
  }

  /** Returns the body of several INSERTs. modes, stateTtlMillis, rules: see `analyze` */
  public static JobBody of(BranchedInsert insert, String modes, long stateTtlMillis, String rules) {
    var body =
        inSession(
            insert.session(),
            () -> new JobBody(insert, RunOptions.of(modes, stateTtlMillis), rules));
    return body.withTables(insert.tables());
  }

  private JobBody withTables(JobColumns tables) {
    facts.set("tables", Json.MAPPER.valueToTree(tables.read()));
    return this;
  }

  /**
   * Resolves an INSERT, or the CREATE TABLE ... AS of a table that does not exist, in the session.
   * Throws Spark's errors, with positions in `text`.
   *
   * @param modes the output modes in which the statement may write, separated by commas; the first
   *     possible one decides how the query is rewritten
   * @param stateTtlMillis the time to live of state that no watermark removes; 0 for ever
   * @param clauses the clauses of AUTO CDC, see `ChangeQuery`, or null for an INSERT
   * @param columns the columns of the table that an INSERT writes, a JSON array; null for all
   * @param tables the columns of the tables that the query reads, see `JobColumns`; null for all
   * @param rules the rules for its rows, a JSON array, see `Conditions`
   */
  public static JobBody analyze(
      SparkSession session,
      String text,
      String modes,
      long stateTtlMillis,
      String clauses,
      String columns,
      String tables,
      String rules) {
    var options = RunOptions.of(modes, stateTtlMillis);
    var read = new JobColumns(tables);
    return inSession(
            session,
            () -> read.call(() -> resolve(session, text, options, clauses, columns, rules)))
        .withTables(read);
  }

  /** Runs an analysis of a job in a session. */
  static <T> T inSession(SparkSession session, Supplier<T> analysis) {
    MetastoreCache.beginReads(session);
    try {
      // The analyzer reads settings (time zone, ANSI mode) from the thread's active session.
      return ActiveSession.call(session, () -> JobContext.analyze(analysis));
    } finally {
      MetastoreCache.endReads(session);
    }
  }

  private static JobBody resolve(
      SparkSession session,
      String text,
      RunOptions options,
      String clauses,
      String columns,
      String rules) {
    var state = session.sessionState();
    var parser = state.sqlParser();
    try {
      var statement = parser.parsePlan(text);
      if (statement instanceof CreateTableAsSelect create)
        return new JobBody(session, NewTable.resolve(session, create), options, rules);
      var parsed =
          clauses == null
              ? WrittenColumns.named(statement, columns)
              : ChangeQuery.of(parser, statement, clauses);
      return new JobBody(
          session,
          state.analyzer().executeAndCheck(parsed, new QueryPlanningTracker(Option.empty())),
          options,
          clauses != null,
          columns,
          rules);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
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

  /** Returns the lineage of the columns as a JSON object, see `LineageFacts`. */
  public String lineage() {
    return inSession(session, this::readLineage);
  }

  private String readLineage() {
    var lineage = new LineageFacts(session, written);
    Conditions.forEach(
        session,
        Plans.list(written.output()),
        rules,
        (rule, condition) -> lineage.addRule(rule.name(), condition, rule.removes()));
    if (branches == null) {
      lineage.addTable(facts.get("sink"));
    } else {
      var sinks = facts.get("branches");
      for (int i = 0; i < sinks.size(); i++)
        lineage.addTable(sinks.get(i).get("sink"), branches.parts().get(i).body());
    }
    return lineage.json();
  }

  /** Returns the facts as a JSON object. */
  public String facts() {
    return Json.write(facts);
  }
}
