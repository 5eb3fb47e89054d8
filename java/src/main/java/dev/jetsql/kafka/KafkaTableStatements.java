package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import org.apache.spark.sql.catalyst.plans.logical.AddColumns;
import org.apache.spark.sql.catalyst.plans.logical.AlterTableClusterBy;
import org.apache.spark.sql.catalyst.plans.logical.CacheTable;
import org.apache.spark.sql.catalyst.plans.logical.ColumnDefinition;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.DropColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.RenameColumn;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceColumns;
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
 * Check statements about Kafka tables: what a CREATE TABLE defines, and which statements are
 * possible at all.
 */
public final class KafkaTableStatements {
  private KafkaTableStatements() {}

  /**
   * Check a statement that creates a Kafka table, and report an error at its place. Accept all
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
    StructType columns = definitions == null ? null : columns(definitions);
    if (!(spec instanceof UnresolvedTableSpec table)) return;
    if (table.provider().isEmpty() || !"kafka".equalsIgnoreCase(table.provider().get())) return;
    if (!partitioning.isEmpty() || table.location().isDefined()) {
      throw notSupported(
          "A Kafka table has no PARTITIONED BY,"
              + " CLUSTERED BY or LOCATION: its topic has partitions of its own.");
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
                + " is GENERATED, which columns of a Kafka table can't be."
                + " Write its expression in the query that inserts.");
      }
      columns = columns.add(column.toV1Column());
    }
    return columns;
  }

  private static RuntimeException notSupported(String message) {
    return Exceptions.raise(JetSqlException.of("NOT_SUPPORTED", "0A000", message));
  }

  /** Return why a statement is not possible with a Kafka table, or null if it is. */
  public static String whyRefused(LogicalPlan command) {
    if (command instanceof DeleteFromTable
        || command instanceof UpdateTable
        || command instanceof MergeIntoTable) {
      return "What is in a Kafka topic can't be changed: messages can only be added, with INSERT"
          + " INTO.";
    }
    if (command instanceof TruncateTable || command instanceof TruncatePartition) {
      return "What is in a Kafka topic can't be deleted from here: its retention does that, or"
          + " kafka-delete-records.";
    }
    if (command instanceof CacheTable) {
      return "A Kafka table is read from its topic every time. CACHE TABLE name AS SELECT ... keeps"
          + " what is there now.";
    }
    boolean alters =
        command instanceof AddColumns
            || command instanceof ReplaceColumns
            || command instanceof DropColumns
            || command instanceof RenameColumn
            || command instanceof SetTableLocation
            || command instanceof AlterTableClusterBy
            || command instanceof SetTableSerDeProperties;
    return alters
        ? "Columns and options of a Kafka table can't be altered. DROP TABLE and CREATE TABLE make"
            + " it anew, and leave the topic as it is."
        : null;
  }
}
