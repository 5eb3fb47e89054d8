package dev.jetsql.testing;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Sequences;
import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.sql.NewTable;
import dev.jetsql.sql.StandInTables;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
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

  private TestDefinitions() {}

  /** Returns whether a statement inserts rows into a table. */
  public static boolean isInsert(SparkSession session, String text) {
    return parsed(session, text) instanceof InsertIntoStatement;
  }

  /** Runs a statement that inserts no rows. */
  public static Dataset<org.apache.spark.sql.Row> run(SparkSession session, String text) {
    var plan = parsed(session, text);
    return plan instanceof CreateTable create
        ? Dataset.ofRows(session, inMemory(create))
        : session.sql(text);
  }

  /** Creates the table of CREATE TABLE ... AS, without rows. */
  public static void createTable(SparkSession session, String text) {
    Dataset.ofRows(session, inMemory(NewTable.definition(session, text)));
  }

  private static LogicalPlan parsed(SparkSession session, String text) {
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
