package dev.jetsql.catalog;

import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Json;
import dev.jetsql.common.OptionPositions;
import dev.jetsql.parser.EngineStatements;
import dev.jetsql.plans.Plans;
import dev.jetsql.versions.SparkCalls;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.DropTable;
import org.apache.spark.sql.catalyst.plans.logical.DropView;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.catalyst.plans.logical.SetTableProperties;
import org.apache.spark.sql.catalyst.plans.logical.ShowCreateTable;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnsetTableProperties;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CreateTable;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Spark's statements about streaming tables and materialized views. Some of them apply to the job
 * as well, so JetSQL's own statement replaces them. Only the job changes the rows: otherwise it
 * would neither know nor repair them.
 */
final class TablesWithJobs {
  /** The property with the id of the job for which the table was created. */
  static final String JOB = "jetsql.job";

  /** The property with the kind of the table: STREAMING TABLE or MATERIALIZED VIEW. */
  static final String KIND = "jetsql.kind";

  /**
   * The statements that change rows of their first child, a table, or where it has them. They are
   * compared by name, because some are Delta's, and because older Sparks lack others.
   */
  private static final Set<String> CHANGES =
      Set.of(
          "DeleteFromTable",
          "UpdateTable",
          "MergeIntoTable",
          "TruncateTable",
          "TruncatePartition",
          "LoadData",
          "ReplaceTable",
          "ReplaceTableAsSelect",
          "SetTableLocation",
          "DropPartitions",
          "RenamePartitions",
          "ReplaceColumns",
          "DropColumns",
          "RenameColumn",
          "RestoreTableStatement");

  private static final String LOG_FOLDER = "_spark_metadata"; // of Spark's file sink

  private static final ThreadLocal<Boolean> drops = new ThreadLocal<>();

  private final SparkSession session;

  TablesWithJobs(SparkSession session) {
    this.session = session;
  }

  /**
   * Returns JetSQL's statement for Spark's statement about a streaming table or a materialized
   * view, so that it applies to the table's job as well; null for any other statement.
   */
  LogicalPlan replace(LogicalPlan command) {
    var statement = "";
    if (command instanceof DropTable drop) statement = "DROP %s " + ifExists(drop.ifExists());
    else if (command instanceof ShowCreateTable) statement = "SHOW CREATE %s ";
    else if (!(command instanceof RenameTable || command instanceof DropView)) return null;
    var target = command.children().head();
    var parts = qualified(target);
    var kind = parts == null ? "" : kindOf(parts);
    if (kind.isEmpty()) return null;
    var table = quoted(parts);
    if (!statement.isEmpty())
      return EngineStatements.command(session, statement.formatted(kind) + table);
    throw command instanceof DropView
        ? refused(
            target.origin(),
            "RELATION_READ_ONLY",
            "42809",
            "%s is no view, but a %s with a job. To end the job and delete the rows, run DROP %s %s."
                .formatted(table, kind.toLowerCase(Locale.ROOT), kind, table))
        : refused(
            target.origin(),
            "NOT_SUPPORTED",
            "0A000",
            "Cannot rename the %s %s: its job writes to this name. Create it with the other name, then DROP %s %s."
                .formatted(kind.toLowerCase(Locale.ROOT), table, kind, table));
  }

  /**
   * Refuses to change the rows of these tables, but for jobs: CREATE JOB checks what they write.
   */
  void refuseWrites(LogicalPlan plan) {
    if (JobContext.isAnalyzing()
        || session.sessionState().conf().contains(JobContext.JOB_CONF)
        || !EngineCallback.isConnected()) return;
    plan.foreach(
        new AbstractFunction1<LogicalPlan, BoxedUnit>() {
          @Override
          public BoxedUnit apply(LogicalPlan node) {
            refuseWrite(node);
            return BoxedUnit.UNIT;
          }
        });
  }

  private void refuseWrite(LogicalPlan node) {
    if (node instanceof SetTableProperties set)
      refuseOwnProperties(set.origin(), CollectionConverters.asJava(set.properties()).keySet());
    else if (node instanceof UnsetTableProperties unset)
      refuseOwnProperties(unset.origin(), CollectionConverters.asJava(unset.propertyKeys()));
    var target = target(node);
    var parts =
        node instanceof WriteToStreamStatement write
            ? ofStream(write)
            : target == null ? null : qualified(target);
    var kind = parts == null ? "" : kindOf(parts);
    if (kind.isEmpty()) return;
    if (node instanceof WriteToStreamStatement write) removeEmptyLog(write);
    throw readOnly((target == null ? node : target).origin(), kind, parts);
  }

  private static void refuseOwnProperties(Origin origin, Collection<String> names) {
    for (var name : names) {
      if (name.equals(JOB) || name.equals(KIND))
        throw refused(
            OptionPositions.ofMatch(origin, Pattern.compile("['\"](" + Pattern.quote(name) + ")")),
            "OPTION_NOT_CHANGEABLE",
            "42616",
            "Cannot change the property '" + name + "': JetSQL sets it for the tables of jobs.");
    }
  }

  /**
   * Refuses to drop a table of a job, or one that a running job uses, below Spark's statements:
   * `saveAsTable` in the mode "overwrite" drops the table without one.
   */
  static void refuseDrop(CatalogTable table) {
    if (drops.get() != null || !EngineCallback.isConnected()) return;
    var origin = CurrentOrigin.get();
    var schema = List.of(Tables.CATALOG, table.identifier().database().get());
    var name = table.identifier().table();
    var kind = table.properties().get(KIND);
    if (kind.isDefined())
      throw readOnly(origin, kind.get(), List.of(schema.get(0), schema.get(1), name));
    TableUsers.refuse(origin, "drop", schema, name);
  }

  /** Runs what drops a table after its users were checked. */
  static void drop(Runnable command) {
    drops.set(true);
    try {
      command.run();
    } finally {
      drops.remove();
    }
  }

  private static RuntimeException readOnly(Origin origin, String kind, List<String> parts) {
    return refused(
        origin,
        "RELATION_READ_ONLY",
        "42809",
        "Cannot change the rows of the %s %s: only its job writes them. Change the rows that its query reads, or the query with CREATE OR REFRESH %s."
            .formatted(kind.toLowerCase(Locale.ROOT), quoted(parts), kind));
  }

  private static RuntimeException refused(
      Origin origin, String condition, String state, String message) {
    return Exceptions.raise(JetSqlException.at(origin, condition, state, message));
  }

  /** Returns the table whose rows a node of a statement changes, or null. */
  private static LogicalPlan target(LogicalPlan node) {
    if (node instanceof InsertIntoStatement insert) return insert.table();
    if (node instanceof V2WriteCommand write) return (LogicalPlan) write.table();
    if (node instanceof CreateTable create && create.query().isDefined())
      return node; // saveAsTable
    var changes = CHANGES.contains(node.getClass().getSimpleName());
    return changes && !node.children().isEmpty() ? node.children().head() : null;
  }

  private static List<String> ofStream(WriteToStreamStatement write) {
    if (write.catalogTable().isDefined()) {
      var name = write.catalogTable().get().identifier();
      return List.of(Tables.CATALOG, name.database().getOrElse(() -> ""), name.table());
    }
    if (write.catalogAndIdent().isEmpty()) return null;
    var found = write.catalogAndIdent().get();
    return CatalogTables.parts(found._1().name(), found._2());
  }

  /**
   * Removes the log of files that Spark's sink has begun before its query is analyzed. With an
   * empty log, Spark would read no rows of the table.
   */
  private void removeEmptyLog(WriteToStreamStatement write) {
    var table = write.catalogTable();
    if (table.isEmpty() || table.get().storage().locationUri().isEmpty()) return;
    var log = new Path(new Path(table.get().storage().locationUri().get()), LOG_FOLDER);
    try {
      var files = log.getFileSystem(session.sessionState().newHadoopConf());
      if (files.exists(log) && files.listStatus(log).length == 0) files.delete(log, false);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the parts of a table's qualified name; null for a plan without a table's name. */
  private List<String> qualified(LogicalPlan target) {
    var table = target;
    while (table instanceof SubqueryAlias alias) table = alias.child();
    var name = TableRules.nameOf(table);
    if (name == null || session.sessionState().catalog().isTempView(name)) return null;
    return TableNames.qualified(session, Plans.list(name));
  }

  private static String quoted(List<String> parts) {
    var shown = parts.get(0).equalsIgnoreCase(Tables.CATALOG) ? parts.subList(1, 3) : parts;
    return shown.stream().map(Tables::quoted).collect(Collectors.joining("."));
  }

  private static String ifExists(boolean ifExists) {
    return ifExists ? "IF EXISTS " : "";
  }

  /** Returns the kind of a table with a job; empty for any other table. */
  private String kindOf(List<String> parts) {
    if (!EngineCallback.isConnected()) return "";
    var catalog = parts.get(0);
    String facts = null;
    try {
      if (catalog.equalsIgnoreCase(Tables.CATALOG))
        facts = parts.size() == 3 ? Tables.facts(session, parts.get(1), parts.get(2)) : null;
      else if (CatalogTables.isOfIceberg(SparkCalls.catalog(session, catalog)))
        facts = CatalogTables.facts(session, Json.write(parts));
    } catch (Exception e) { // a Scala method declares no checked exception
      throw Exceptions.raise(e);
    }
    return facts == null ? "" : Json.readObject(facts).get("kind").asText();
  }
}
