package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import org.apache.spark.sql.catalyst.plans.logical.AlterTableClusterBy;
import org.apache.spark.sql.catalyst.plans.logical.CacheTable;
import org.apache.spark.sql.catalyst.plans.logical.ColumnDefinition;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.SetTableLocation;
import org.apache.spark.sql.catalyst.plans.logical.SetTableSerDeProperties;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.TruncatePartition;
import org.apache.spark.sql.catalyst.plans.logical.TruncateTable;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.SchemaUtils;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Checks statements about Kafka tables: the definitions of CREATE TABLE, and the kinds of
 * statements that are supported.
 */
public final class KafkaTableStatements {
  private KafkaTableStatements() {}

  /**
   * Checks a statement that creates a Kafka table, and throws an error at its position. Accepts all
   * other statements.
   */
  public static void check(SparkSession session, LogicalPlan command) {
    if (command instanceof CreateTable create) {
      check(session, create.tableSpec(), create.partitioning(), create.columns());
    } else if (command instanceof CreateTableAsSelect create) {
      check(session, create.tableSpec(), create.partitioning(), null);
    }
  }

  private static void check(
      SparkSession session,
      TableSpecBase spec,
      Seq<Transform> partitioning,
      Seq<ColumnDefinition> definitions) {
    if (!(spec instanceof UnresolvedTableSpec table)) return;
    if (table.provider().isEmpty() || !"kafka".equalsIgnoreCase(table.provider().get())) return;
    StructType columns = definitions == null ? null : columns(definitions);
    if (!partitioning.isEmpty() || table.location().isDefined()) {
      throw notSupported(
          "A Kafka table has no PARTITIONED BY,"
              + " CLUSTERED BY or LOCATION: its topic defines the partitions.");
    }
    if (columns != null) {
      SchemaUtils.checkSchemaColumnNameDuplication(
          columns, session.sessionState().conf().caseSensitiveAnalysis());
    }
    KafkaOptions.check(table, columns);
    KafkaConnector.load(session.sparkContext());
  }

  private static StructType columns(Seq<ColumnDefinition> definitions) {
    StructType columns = new StructType();
    for (ColumnDefinition column : CollectionConverters.asJava(definitions)) {
      if (column.generationExpression().isDefined() || column.identityColumnSpec().isDefined()) {
        throw notSupported(
            "The column "
                + column.name()
                + " of a Kafka table cannot be GENERATED. Write its expression in the query of the"
                + " INSERT.");
      }
      columns = columns.add(column.toV1Column());
    }
    return columns;
  }

  private static RuntimeException notSupported(String message) {
    return Exceptions.raise(JetSqlException.of("NOT_SUPPORTED", "0A000", message));
  }

  /** Returns the reason why a Kafka table does not support a statement, or null if it does. */
  public static String whyRefused(LogicalPlan command) {
    if (command instanceof DeleteFromTable
        || command instanceof UpdateTable
        || command instanceof MergeIntoTable) {
      return "The messages of a Kafka topic cannot be changed. Add messages with INSERT INTO.";
    }
    if (command instanceof TruncateTable || command instanceof TruncatePartition) {
      return "JetSQL cannot delete the messages of a Kafka topic. Set the topic's retention, or use"
          + " kafka-delete-records.";
    }
    if (command instanceof CacheTable) {
      return "A Kafka table cannot be cached: each query reads its topic. Cache its current rows"
          + " with CACHE TABLE name AS SELECT ...";
    }
    boolean alters =
        command instanceof SetTableLocation
            || command instanceof AlterTableClusterBy
            || command instanceof SetTableSerDeProperties;
    return alters
        ? "The options of a Kafka table cannot be altered. Use DROP TABLE and CREATE"
            + " TABLE, which do not change the topic."
        : null;
  }
}
