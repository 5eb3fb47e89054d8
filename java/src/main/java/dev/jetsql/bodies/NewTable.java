package dev.jetsql.bodies;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.catalog.TableVersions;
import dev.jetsql.catalog.Tables;
import dev.jetsql.common.ActiveSession;
import dev.jetsql.common.CreateExternalTable;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Json;
import dev.jetsql.common.Principals;
import dev.jetsql.common.Sequences;
import dev.jetsql.rights.Rights;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.ColumnDefinition;
import org.apache.spark.sql.catalyst.plans.logical.ColumnDefinition$;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.CreateDataSourceTableCommand;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The table that a job creates for its rows: CREATE TABLE ... AS, of which Spark creates the table
 * without rows, and the job fills it.
 */
public final class NewTable {
  private final ObjectNode facts;
  private final LogicalPlan query;

  private NewTable(ObjectNode facts, LogicalPlan query) {
    this.facts = facts;
    this.query = query;
  }

  /** Returns the facts of the table as it would be created, or null for a table of Hive. */
  ObjectNode facts() {
    return facts;
  }

  /** Returns the resolved query. */
  LogicalPlan query() {
    return query;
  }

  /** Resolves a statement without creating the table. */
  static NewTable resolve(SparkSession session, CreateTableAsSelect statement) {
    var query = check(session, statement.query());
    var resolved = check(session, empty(statement, query.schema(), Map.of()));
    return new NewTable(facts(resolved), query);
  }

  private static ObjectNode facts(LogicalPlan resolved) {
    if (resolved instanceof CreateDataSourceTableCommand command)
      return Tables.facts(command.table());
    if (resolved instanceof CreateExternalTable command) return Tables.facts(command.table());
    return resolved instanceof CreateTable create
            && create.name() instanceof ResolvedIdentifier name
            && create.tableSpec() instanceof TableSpec spec
        ? CatalogTables.facts(name.catalog(), name.identifier(), create, spec)
        : null;
  }

  /**
   * Creates the table of CREATE TABLE ... AS, without rows.
   *
   * @param properties a JSON object with further properties of the table
   */
  public static void create(SparkSession session, String text, String properties) {
    var more = new HashMap<String, String>();
    Json.readObject(properties)
        .properties()
        .forEach(entry -> more.put(entry.getKey(), entry.getValue().asText()));
    JobBody.inSession(
        session,
        () -> {
          try {
            var statement =
                (CreateTableAsSelect) session.sessionState().sqlParser().parsePlan(text);
            var columns = check(session, statement.query()).schema();
            check(session, empty(statement, columns, Map.of()));
            // Users may not set properties of tables, and these are the engine's.
            var engine =
                Rights.current() == null ? session : Principals.copyFor(session, Principals.SYSTEM);
            var create = empty(statement, columns, more);
            ActiveSession.call(
                engine,
                () -> {
                  TableVersions.ran(Dataset.ofRows(engine, create));
                  return null;
                });
            return null;
          } catch (Exception e) { // a Scala method declares no checked exception
            throw Exceptions.raise(e);
          }
        });
  }

  /** Returns the definition of the table of CREATE TABLE ... AS, with the columns of the query. */
  public static CreateTable definition(SparkSession session, String text) {
    return JobBody.inSession(
        session,
        () -> {
          try {
            var statement =
                (CreateTableAsSelect) session.sessionState().sqlParser().parsePlan(text);
            return empty(statement, check(session, statement.query()).schema(), Map.of());
          } catch (Exception e) { // a Scala method declares no checked exception
            throw Exceptions.raise(e);
          }
        });
  }

  private static LogicalPlan check(SparkSession session, LogicalPlan plan) {
    return session
        .sessionState()
        .analyzer()
        .executeAndCheck(plan, new QueryPlanningTracker(Option.empty()));
  }

  /** Returns the CREATE TABLE without AS. Spark reads the columns of a JDBC table itself. */
  private static CreateTable empty(
      CreateTableAsSelect statement, StructType columns, Map<String, String> properties) {
    var spec = (UnresolvedTableSpec) statement.tableSpec();
    var provider = spec.provider().isDefined() ? spec.provider().get() : "";
    var definitions = new ArrayList<ColumnDefinition>();
    if (properties.isEmpty() || !provider.equalsIgnoreCase("jdbc")) {
      for (var field : columns.fields()) {
        var comment = field.getComment();
        definitions.add(
            ColumnDefinition$.MODULE$.apply(
                field.name(),
                field.dataType(),
                true,
                comment,
                Option.empty(),
                Option.empty(),
                Option.empty(),
                Metadata.empty()));
      }
    }
    var allProperties = new HashMap<>(CollectionConverters.asJava(spec.properties()));
    allProperties.putAll(properties);
    var newSpec =
        new UnresolvedTableSpec(
            scala.collection.immutable.Map.from(CollectionConverters.asScala(allProperties)),
            spec.provider(),
            spec.optionExpression(),
            spec.location(),
            spec.comment(),
            spec.collation(),
            spec.serde(),
            spec.external(),
            spec.constraints());
    return new CreateTable(
        statement.name(), Sequences.of(definitions), statement.partitioning(), newSpec, false);
  }
}
