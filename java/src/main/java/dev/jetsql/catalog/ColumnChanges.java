package dev.jetsql.catalog;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.options.TableOptions;
import dev.jetsql.records.FileStream;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.AddColumns;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumnSpec;
import org.apache.spark.sql.catalyst.plans.logical.AlterColumns;
import org.apache.spark.sql.catalyst.plans.logical.DropColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.QualifiedColType;
import org.apache.spark.sql.catalyst.plans.logical.RenameColumn;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceColumns;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Checks ALTER TABLE of the columns of Kafka tables and tables of files. Spark ignores the position
 * of a new column, and gives no remedy for what it refuses.
 */
final class ColumnChanges {
  private static final String METADATA = "_metadata";

  private ColumnChanges() {}

  /** Returns whether a statement adds columns whose values readers find by their order. */
  static boolean addsByOrder(LogicalPlan command, CatalogTable table) {
    if (!(command instanceof AddColumns) || table == null) return false;
    var format = TableOptions.format(table);
    if (TableOptions.readsFiles(format)) return FileStream.isByOrder(table);
    return format.equals("kafka") && new KafkaTable(null, table, Map.of()).isByOrder();
  }

  /** Throws the error of a change that the columns of a table cannot have. */
  static void check(LogicalPlan command, CatalogTable table) {
    if (table == null) return;
    var format = TableOptions.format(table);
    if (!format.equals("kafka") && !TableOptions.readsFiles(format)) return;
    var reason = whyRefused(command, format.equals("kafka"));
    if (reason != null) throw refused(command.children().head().origin(), reason);
  }

  private static String whyRefused(LogicalPlan command, boolean isTopic) {
    var rows = isTopic ? "messages" : "files";
    if (command instanceof AddColumns add)
      return CollectionConverters.asJava(add.columnsToAdd()).stream()
          .map(column -> whyRefused(column, rows))
          .filter(reason -> reason != null)
          .findFirst()
          .orElse(null);
    if (command instanceof DropColumns || command instanceof ReplaceColumns)
      return "Cannot drop or replace columns: the "
          + rows
          + " keep them. Leave the column out of the query, or use "
          + (isTopic
              ? "DROP TABLE and CREATE TABLE, which do not change the topic."
              : "CREATE TABLE for another table over the same LOCATION.");
    if (command instanceof RenameColumn)
      return "Cannot rename a column: the "
          + rows
          + " have its name. Rename it in the query or in a view: SELECT old AS new.";
    if (command instanceof AlterColumns alter
        && CollectionConverters.asJava(alter.specs()).stream().anyMatch(ColumnChanges::hasType))
      return "Cannot change the type of a column: jobs and the "
          + rows
          + " have it. Add a column of the other type, or cast it in the query.";
    return null;
  }

  private static boolean hasType(AlterColumnSpec change) {
    return change.newDataType().isDefined();
  }

  private static String whyRefused(QualifiedColType column, String rows) {
    if (column.position().isDefined())
      return "Cannot add the column "
          + column.colName()
          + " FIRST or AFTER another: new columns are the last ones. Leave out the position.";
    if (!column.nullable())
      return "Cannot add the column "
          + column.colName()
          + " with NOT NULL: it is NULL in the "
          + rows
          + " that were written before. Leave out NOT NULL.";
    return null;
  }

  /** Checks new columns of a table of files. Throws an error at `origin`. */
  static void checkAdded(
      SparkSession session, CatalogTable table, Seq<StructField> columns, Origin origin) {
    var name = TableOptions.format(table);
    if (!TableOptions.readsFiles(name)) return; // Spark refuses it
    var format = format(session, name);
    for (var column : CollectionConverters.asJava(columns)) {
      if (column.name().equalsIgnoreCase(METADATA))
        throw refused(
            origin,
            "Cannot add the column _metadata: queries read the metadata of files with this name."
                + " Use another name.");
      if (format.supportDataType(column.dataType())) continue;
      throw refused(
          origin,
          "Cannot add the column "
              + column.name()
              + ": tables USING "
              + name
              + " have no columns of the type "
              + column.dataType().sql()
              + ". Use another type.");
    }
    var options = options(table);
    if (FileStream.isByOrder(table)
        && options.getBoolean("header", false)
        && !options.getBoolean("enforceSchema", true))
      throw refused(
          origin,
          "Cannot add columns: with the option 'enforceSchema' = 'false', the headers of the files"
              + " that were written before do not fit. Set 'enforceSchema' to 'true' first.");
  }

  private static CaseInsensitiveStringMap options(CatalogTable table) {
    return new CaseInsensitiveStringMap(CollectionConverters.asJava(table.storage().properties()));
  }

  private static FileFormat format(SparkSession session, String name) {
    try {
      var found = DataSource.lookupDataSource(name, session.sessionState().conf());
      var instance = found.getDeclaredConstructor().newInstance();
      return (FileFormat)
          (instance instanceof FileDataSourceV2 source
              ? source.fallbackFileFormat().getDeclaredConstructor().newInstance()
              : instance);
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  private static RuntimeException refused(Origin origin, String message) {
    return Exceptions.raise(JetSqlException.at(origin, "NOT_SUPPORTED", "0A000", message));
  }
}
