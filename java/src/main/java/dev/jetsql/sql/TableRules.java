package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.kafka.KafkaOptions;
import dev.jetsql.kafka.KafkaRead;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.kafka.KafkaTableStatements;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.QualifiedTableName;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableOrView;
import org.apache.spark.sql.catalyst.analysis.UnresolvedView;
import org.apache.spark.sql.catalyst.plans.logical.AlterViewAs;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.CreateView;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.DropTable;
import org.apache.spark.sql.catalyst.plans.logical.DropView;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.NoopCommand;
import org.apache.spark.sql.catalyst.plans.logical.RefreshTable;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Seq;

/**
 * Decides what the name of a table in a statement stands for: a relation of the engine
 * (`LiveTables`), a Kafka table, or Spark's own, whose file list is dropped where it is out of date
 * (`TableVersions`). Refuses what none of them can do.
 */
final class TableRules extends Rule<LogicalPlan> {
  private final SparkSession session;

  TableRules(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof RefreshTable refresh && isLive(refresh.child())) {
      return new NoopCommand("REFRESH TABLE", Sequences.of());
    }
    refuseChange(plan);
    refuseForKafka(plan);
    KafkaTableStatements.check(session, plan);
    JdbcSecrets.check(plan);
    return plan.resolveOperatorsDown(
        PartialFunctions.of(
            node -> node instanceof UnresolvedRelation || node instanceof InsertIntoStatement,
            this::resolved));
  }

  private LogicalPlan resolved(LogicalPlan node) {
    return node instanceof InsertIntoStatement insert
        ? resolvedInsert(insert)
        : resolved((UnresolvedRelation) node);
  }

  private LogicalPlan resolved(UnresolvedRelation relation) {
    var schema = schemaOf(relation.multipartIdentifier());
    if (schema != null) {
      var name = relation.multipartIdentifier().last();
      if (LiveTables.has(schema, name)) return live(relation, name);
      TableVersions.refresh(session.sessionState().catalog(), schema, name);
      var given = relation.options().asCaseSensitiveMap();
      var kafka = kafka(schema, name, given);
      if (kafka != null) {
        KafkaOptions.checkQuery(relation.origin(), given, kafka, relation.isStreaming());
        return SubqueryAlias$.MODULE$.apply(
            kafka.nameParts(), new KafkaRead(kafka, relation.isStreaming()));
      }
    }
    return JobContext.isAnalyzing() && relation.isStreaming() ? withOldFiles(relation) : relation;
  }

  private InsertIntoStatement resolvedInsert(InsertIntoStatement insert) {
    var name = nameOf(insert.table());
    var schema = name == null ? null : schemaOf(name);
    if (schema == null) return insert;
    TableVersions.refresh(session.sessionState().catalog(), schema, name.last());
    var kafka = kafka(schema, name.last(), Map.of());
    if (kafka == null) return insert;
    if (insert.overwrite() && !JobContext.isAnalyzing())
      throw KafkaTable.overwriteRefused(insert.table().origin());
    if (kafka.topic() == null && !kafka.isRaw()) {
      throw Exceptions.raise(
          JetSqlException.at(
              insert.table().origin(),
              "UNSUPPORTED_SINK",
              "0A000",
              "The table "
                  + kafka.name()
                  + " is for reading: its options name no 'topic' that rows could go to."));
    }
    if (insert.table() instanceof UnresolvedRelation named) {
      KafkaOptions.refuseWithInsert(named.origin(), named.options().asCaseSensitiveMap(), kafka);
    }
    return insert.copy(
        kafka.insertTarget(),
        insert.partitionSpec(),
        insert.userSpecifiedCols(),
        insert.query(),
        insert.overwrite(),
        insert.ifPartitionNotExists(),
        insert.byName(),
        insert.replaceCriteriaOpt(),
        insert.withSchemaEvolution());
  }

  /**
   * Return the Kafka table of a name; null for every other one. A table that Spark has kept has a
   * source of its own.
   */
  private KafkaTable kafka(String schema, String name, Map<String, String> given) {
    var catalog = session.sessionState().catalog();
    try {
      if (catalog.getCachedTable(new QualifiedTableName(Tables.CATALOG, schema, name)) != null)
        return null;
      var found = session.sharedState().externalCatalog().getTable(schema, name);
      if (!KafkaTable.isKafka(found)) return null;
      var kafka = new KafkaTable(session, found, given);
      kafka.loadModules();
      return kafka;
    } catch (Exception e) { // Scala declares no exceptions
      if (e instanceof NoSuchTableException || e instanceof NoSuchDatabaseException) return null;
      throw Exceptions.raise(e);
    }
  }

  /**
   * Return the schema of a name; null when the name stands for nothing in the session catalogue.
   */
  private String schemaOf(Seq<String> name) {
    var catalog = session.sessionState().catalog();
    if (name.size() > 3 || catalog.isTempView(name)) return null;
    // Names in a view's text are of the place that the view was made in.
    var ofView = AnalysisContext.get().catalogAndNamespace();
    var current =
        ofView.isEmpty()
            ? session.sessionState().catalogManager().currentCatalog().name()
            : ofView.head();
    if (!(name.size() == 3 ? name.head() : current).equalsIgnoreCase(Tables.CATALOG)) return null;
    if (name.size() > 1) return name.apply(name.size() - 2);
    return ofView.isEmpty() ? catalog.getCurrentDatabase() : ofView.last();
  }

  private static LogicalPlan live(UnresolvedRelation relation, String name) {
    if (!relation.isStreaming()) return LiveTables.plan(name);
    throw Exceptions.raise(
        JetSqlException.at(
            relation.origin(),
            "UNSUPPORTED_QUERY",
            "0A000",
            "The relation jetsql."
                + name
                + " can't be read as a stream: it shows what is now. Leave out STREAM."));
  }

  /** Refuse to change a relation of the engine: Spark would speak of views, or even do it. */
  private void refuseChange(LogicalPlan command) {
    var target = target(command);
    if (target == null || !isLive(target) || !LiveTables.isConnected()) return;
    throw Exceptions.raise(
        JetSqlException.at(
            target.origin(),
            "RELATION_READ_ONLY",
            "42809",
            "The relation jetsql."
                + nameOf(target).last()
                + " shows what the engine knows: it can be read, not changed."));
  }

  /**
   * Refuse what a Kafka table can't do, at its name; Spark would fail in ways of its own, or do it.
   */
  private void refuseForKafka(LogicalPlan command) {
    var why = KafkaTableStatements.whyRefused(command);
    if (why == null || command.children().isEmpty()) return;
    var target = command.children().head();
    while (target instanceof SubqueryAlias alias) target = alias.child();
    var name = nameOf(target);
    var schema = name == null ? null : schemaOf(name);
    if (schema == null || kafka(schema, name.last(), Map.of()) == null) return;
    throw Exceptions.raise(JetSqlException.at(target.origin(), "NOT_SUPPORTED", "0A000", why));
  }

  private boolean isLive(LogicalPlan named) {
    var name = nameOf(named);
    var schema = name == null ? null : schemaOf(name);
    return schema != null && LiveTables.has(schema, name.last());
  }

  /** Return the name that a command is about; null for a plan of another kind. */
  private static Seq<String> nameOf(LogicalPlan named) {
    if (named instanceof UnresolvedRelation relation) return relation.multipartIdentifier();
    if (named instanceof org.apache.spark.sql.execution.datasources.CreateTable create) {
      return create.tableDesc().identifier().nameParts();
    }
    if (named instanceof UnresolvedIdentifier identifier) return identifier.nameParts();
    if (named instanceof UnresolvedView view) return view.multipartIdentifier();
    if (named instanceof UnresolvedTable table) return table.multipartIdentifier();
    return named instanceof UnresolvedTableOrView either ? either.multipartIdentifier() : null;
  }

  private static LogicalPlan target(LogicalPlan command) {
    if (command instanceof InsertIntoStatement insert) return insert.table();
    if (command instanceof org.apache.spark.sql.execution.datasources.CreateTable)
      return command; // saveAsTable
    var changes =
        command instanceof DropView
            || command instanceof DropTable
            || command instanceof CreateView
            || command instanceof CreateTable
            || command instanceof CreateTableAsSelect
            || command instanceof AlterViewAs
            || command instanceof RenameTable
            || command instanceof DeleteFromTable
            || command instanceof UpdateTable
            || command instanceof MergeIntoTable;
    if (!changes || command.children().isEmpty()) return null;
    var target = command.children().head();
    return target instanceof SubqueryAlias alias ? alias.child() : target;
  }

  /**
   * Have a job read all files: Spark's file source silently skips those that are a week older than
   * the newest one.
   */
  private static UnresolvedRelation withOldFiles(UnresolvedRelation relation) {
    if (relation.options().containsKey("maxFileAge")) return relation;
    var options = new HashMap<>(relation.options().asCaseSensitiveMap());
    options.put("maxFileAge", JobContext.ANY_AGE);
    return relation.copy(
        relation.multipartIdentifier(), new CaseInsensitiveStringMap(options), true);
  }
}
