package dev.jetsql.testing;

import dev.jetsql.bodies.NewTable;
import dev.jetsql.catalog.StandInTables;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Sequences;
import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.CreateView;
import org.apache.spark.sql.catalyst.plans.logical.DropTable;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.expressions.IdentityTransform;
import org.apache.spark.sql.connector.expressions.Transform;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The statements of Spark in unit tests. A table keeps its columns, keys and options, but has no
 * location: tables of databases and lakes are tables of files for Spark, which no row ever reaches.
 */
public final class TestDefinitions {
  private static final String STAND_IN_FORMAT = "parquet";

  private static final Map<String, String> REFUSED =
      Map.ofEntries(
          Map.entry("TruncateTable", "TRUNCATE TABLE"),
          Map.entry("TruncatePartition", "TRUNCATE TABLE"),
          Map.entry("UpdateTable", "UPDATE"),
          Map.entry("DeleteFromTable", "DELETE"),
          Map.entry("MergeIntoTable", "MERGE"),
          Map.entry("LoadData", "LOAD DATA"),
          Map.entry("InsertIntoDir", "INSERT OVERWRITE DIRECTORY"),
          Map.entry("ReplaceTable", "REPLACE TABLE"),
          Map.entry("ReplaceTableAsSelect", "REPLACE TABLE"),
          Map.entry("CacheTable", "CACHE TABLE"),
          Map.entry("CacheTableAsSelect", "CACHE TABLE"),
          Map.entry("CompoundBody", "BEGIN ... END"),
          Map.entry("UnresolvedExecuteImmediate", "EXECUTE IMMEDIATE"),
          Map.entry("RenameTable", "ALTER TABLE ... RENAME TO"),
          Map.entry("AddColumns", "ALTER TABLE of columns"),
          Map.entry("ReplaceColumns", "ALTER TABLE of columns"),
          Map.entry("DropColumns", "ALTER TABLE of columns"),
          Map.entry("RenameColumn", "ALTER TABLE of columns"),
          Map.entry("AlterColumns", "ALTER TABLE of columns"),
          Map.entry("AddPartitions", "ALTER TABLE of partitions"),
          Map.entry("DropPartitions", "ALTER TABLE of partitions"),
          Map.entry("RenamePartitions", "ALTER TABLE of partitions"),
          Map.entry("RepairTable", "MSCK REPAIR TABLE"),
          Map.entry("RecoverPartitions", "ALTER TABLE of partitions"),
          Map.entry("SetTableLocation", "ALTER TABLE ... SET LOCATION"));

  private TestDefinitions() {}

  /** Returns whether a statement inserts rows into a table. */
  public static boolean isInsert(SparkSession session, String text) {
    return insert(parsed(session, text)) != null;
  }

  /** Returns the INSERT of a plan, which can have a WITH before it, or null. */
  static InsertIntoStatement insert(LogicalPlan plan) {
    if (plan instanceof UnresolvedWith with) return insert(with.child());
    return plan instanceof InsertIntoStatement insert ? insert : null;
  }

  /** Returns the qualified name of the table that a statement drops, or an empty text. */
  public static String dropped(SparkSession session, String text) {
    return parsed(session, text) instanceof DropTable drop
            && drop.child() instanceof UnresolvedIdentifier name
        ? qualified(session, name)
        : "";
  }

  private static String qualified(SparkSession session, UnresolvedIdentifier name) {
    var parts = new ArrayList<>(CollectionConverters.asJava(name.nameParts()));
    if (parts.size() == 1) parts.add(0, session.sessionState().catalog().getCurrentDatabase());
    if (parts.size() == 2) parts.add(0, "spark_catalog");
    return String.join(".", parts).toLowerCase(Locale.ROOT);
  }

  /**
   * Runs a statement that inserts no rows, other than the first ones of a new table.
   *
   * @param millis the time of the test's clock
   * @return whether the statement creates a table or a view, and does nothing else
   */
  public static boolean run(SparkSession session, MemoryTables tables, String text, long millis) {
    var plan = parsed(session, text);
    refuse(plan);
    if (plan instanceof CreateTable create) Dataset.ofRows(session, inMemory(create));
    else if (plan instanceof CreateTableAsSelect create)
      create(session, tables, create, text, millis);
    else session.sql(text);
    tables.forgetDropped();
    return plan instanceof CreateTable || plan instanceof CreateView;
  }

  private static void create(
      SparkSession session,
      MemoryTables tables,
      CreateTableAsSelect create,
      String text,
      long millis) {
    var name = qualified(session, (UnresolvedIdentifier) create.name());
    if (create.ignoreIfExists() && tables.exists(name)) return;
    createTable(session, text);
    var rows = Dataset.ofRows(session, create.query()).queryExecution().analyzed();
    tables.target(name, "append", List.of()).write(tables.dataset(session, rows, millis), millis);
  }

  /** Throws JetSqlException for a statement that would reach files, and no table in memory. */
  private static void refuse(LogicalPlan plan) {
    var several =
        plan instanceof Union union && insert(union.children().head()) != null
            ? "an INSERT into several tables"
            : REFUSED.get(plan.getClass().getSimpleName());
    if (several == null) return;
    throw Exceptions.raise(
        JetSqlException.of(
            "UNSUPPORTED_QUERY",
            "0A000",
            "A unit test does not run "
                + several
                + ": its tables are in memory. Write the columns in CREATE TABLE, and change rows"
                + " with INSERT INTO and INSERT OVERWRITE."));
  }

  /** Creates the table of CREATE TABLE ... AS, without rows. */
  public static void createTable(SparkSession session, String text) {
    Dataset.ofRows(session, inMemory(NewTable.definition(session, text)));
  }

  static LogicalPlan parsed(SparkSession session, String text) {
    try {
      return session.sessionState().sqlParser().parsePlan(text);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  private static LogicalPlan inMemory(CreateTable create) {
    if (!(create.tableSpec() instanceof UnresolvedTableSpec spec)) return create;
    var provider = spec.provider().isDefined() ? spec.provider().get() : STAND_IN_FORMAT;
    var properties = new HashMap<>(CollectionConverters.asJava(spec.properties()));
    var changes = new HashMap<String, Object>();
    changes.put("location", Option.empty());
    changes.put("external", false);
    if (provider.equalsIgnoreCase("kafka")) checkNoRegistry(spec);
    if (StandInTables.needsStandIn(provider)) {
      if (create.columns().isEmpty())
        throw Exceptions.raise(
            JetSqlException.of(
                "INVALID_TEST",
                "42601",
                "A table USING "
                    + provider.toLowerCase(Locale.ROOT)
                    + " has no columns in its statement, and a test does not ask the database for"
                    + " them. List the columns in the statement."));
      properties.put(StandInTables.PROVIDER, provider.toLowerCase(Locale.ROOT));
      changes.put("provider", Option.apply(STAND_IN_FORMAT));
    }
    changes.put(
        "properties",
        scala.collection.immutable.Map.from(CollectionConverters.asScala(properties)));
    return CaseClasses.copy(
        create,
        Map.of(
            "tableSpec",
            CaseClasses.copy(spec, changes),
            "partitioning",
            Sequences.of(identities(create))));
  }

  private static void checkNoRegistry(UnresolvedTableSpec spec) {
    for (var option : CollectionConverters.asJava(spec.optionExpression().options())) {
      var key = option._1().toLowerCase(Locale.ROOT);
      if (!RegistryOptions.name(key).equals(RegistryOptions.URL)) continue;
      throw Exceptions.raise(
          JetSqlException.of(
              "UNSUPPORTED_QUERY",
              "0A000",
              "A test has no schema registry, which the option '"
                  + option._1()
                  + "' names. Create the table in the test file, with its columns and without the"
                  + " options of the registry; its messages are then in the format without the"
                  + " registry's ids."));
    }
  }

  private static List<Transform> identities(CreateTable create) {
    var kept = new ArrayList<Transform>();
    for (var each : CollectionConverters.asJava(create.partitioning()))
      if (each instanceof IdentityTransform) kept.add(each);
    return kept;
  }
}
