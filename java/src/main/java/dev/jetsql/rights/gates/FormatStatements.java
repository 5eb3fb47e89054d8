package dev.jetsql.rights.gates;

import dev.jetsql.catalog.CatalogTables;
import dev.jetsql.catalog.TableNames;
import dev.jetsql.common.Reflection;
import dev.jetsql.plans.Plans;
import dev.jetsql.rights.Right;
import dev.jetsql.versions.SparkCalls;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What the gates read in the statements of Delta and Iceberg, whose classes JetSQL lacks. */
final class FormatStatements {
  /** Iceberg's statements: their first field is the name of the table, and they have no parts. */
  private static final Set<String> OF_ICEBERG =
      Set.of(
          "AddPartitionField",
          "CreateOrReplaceBranch",
          "CreateOrReplaceTag",
          "DropBranch",
          "DropIdentifierFields",
          "DropPartitionField",
          "DropTag",
          "ReplacePartitionField",
          "SetIdentifierFields",
          "SetWriteDistributionAndOrdering");

  /** The statements that change the table of their first part. */
  private static final Set<String> CHANGES =
      Set.of(
          "DeleteFromTable",
          "UpdateTable",
          "MergeIntoTable",
          "DeltaDelete",
          "DeltaUpdateTable",
          "DeltaMergeInto");

  /** Iceberg's relations about a table that show no files. */
  private static final Set<String> METADATA = Set.of("history", "refs", "partitions");

  /** Iceberg's relations about a table that show its files, for its owner. */
  private static final Set<String> METADATA_OF_FILES =
      Set.of(
          "all_data_files",
          "all_delete_files",
          "all_entries",
          "all_files",
          "all_manifests",
          "data_files",
          "delete_files",
          "entries",
          "files",
          "manifests",
          "metadata_log_entries",
          "position_deletes",
          "snapshots");

  private FormatStatements() {}

  static boolean isRestore(LogicalPlan plan) {
    return plan.getClass().getSimpleName().equals("RestoreTableStatement");
  }

  /** Returns the table that a RESTORE names, not resolved. */
  static LogicalPlan restored(LogicalPlan restore) {
    return (LogicalPlan) ((Product) ((Product) restore).productElement(0)).productElement(0);
  }

  static boolean isOptimize(LogicalPlan plan) {
    return plan.getClass().getSimpleName().equals("OptimizeTableCommand");
  }

  /** Returns the conditions in the WHERE of an OPTIMIZE, which Delta keeps as texts. */
  static List<String> predicates(LogicalPlan optimize) {
    @SuppressWarnings("unchecked")
    var texts = (Seq<String>) Reflection.call(optimize, "userPartitionPredicates");
    return Plans.list(texts);
  }

  /** Returns whether a statement changes the table of its first part. */
  static boolean changesFirst(LogicalPlan plan) {
    return CHANGES.contains(plan.getClass().getSimpleName());
  }

  /** Returns whether a statement is that of a format, which could name a table by its path. */
  static boolean isOf(LogicalPlan plan) {
    var type = plan.getClass();
    return type.getName().startsWith("org.apache.spark.sql.delta.")
        || type.getName().startsWith("io.delta.")
        || OF_ICEBERG.contains(type.getSimpleName());
  }

  /** Returns the names of the tables in the fields of a format's statement. */
  static List<List<String>> names(SparkSession session, LogicalPlan plan) {
    var names = new ArrayList<List<String>>();
    if (OF_ICEBERG.contains(plan.getClass().getSimpleName())) {
      @SuppressWarnings("unchecked")
      var name = (Seq<String>) ((Product) plan).productElement(0);
      names.add(TableNames.qualified(session, Plans.list(name)));
    }
    var fields = CollectionConverters.asJava(((Product) plan).productIterator());
    while (fields.hasNext())
      if (fields.next() instanceof Table table && isOfDelta(table))
        if (((Option<?>) Reflection.call(table, "catalogTable")).getOrElse(() -> null)
            instanceof CatalogTable known) names.add(RelationNames.of(session, known));
    return names;
  }

  private static boolean isOfDelta(Table table) {
    return table.getClass().getName().startsWith("org.apache.spark.sql.delta.");
  }

  /** Returns whether a qualified name can be that of Iceberg's relation about a table. */
  static boolean isMetadata(SparkSession session, List<String> name) {
    var last = name.get(name.size() - 1).toLowerCase(Locale.ROOT);
    return name.size() > 3
        && (METADATA.contains(last) || METADATA_OF_FILES.contains(last))
        && CatalogTables.isOfIceberg(SparkCalls.catalog(session, name.get(0)));
  }

  /** Returns whether a node reads Iceberg's relation about a table. */
  static boolean isMetadata(LogicalPlan read) {
    if (!(read instanceof DataSourceV2Relation relation)) return false;
    var table = relation.table();
    if (!table.getClass().getName().startsWith("org.apache.iceberg.")) return false;
    var type = Reflection.call(table, "table").getClass();
    while (type != null && !type.getSimpleName().equals("BaseMetadataTable"))
      type = type.getSuperclass();
    return type != null;
  }

  /** Returns the right on a table that Iceberg's relation about it needs. */
  static Right rightOfMetadata(List<String> name) {
    var last = name.get(name.size() - 1).toLowerCase(Locale.ROOT);
    return METADATA.contains(last) ? Right.SELECT : Right.OWNER;
  }
}
