package dev.jetsql.rights.gates;

import dev.jetsql.catalog.Tables;
import dev.jetsql.common.CreateExternalTable;
import dev.jetsql.connections.TableLocations;
import dev.jetsql.options.FileTableOptions;
import dev.jetsql.plans.Plans;
import dev.jetsql.rights.Location;
import dev.jetsql.rights.Right;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.LocalTempView$;
import org.apache.spark.sql.catalyst.analysis.PersistedView$;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.execution.command.AlterTableRenameCommand;
import org.apache.spark.sql.execution.command.AlterTableSetPropertiesCommand;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.command.CreateDataSourceTableCommand;
import org.apache.spark.sql.execution.command.CreateSQLFunctionCommand;
import org.apache.spark.sql.execution.command.CreateViewCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.hive.execution.InsertIntoHiveTable;
import scala.Option;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;

/** The rights that each statement needs on the objects that it names. */
final class StatementRights {
  /** The right that a statement needs on every table or view that it names. */
  private static final Map<String, Right> RIGHTS =
      Map.ofEntries(
          Map.entry("AppendData", Right.INSERT),
          Map.entry("OverwriteByExpression", Right.MODIFY),
          Map.entry("OverwritePartitionsDynamic", Right.MODIFY),
          Map.entry("DeleteFromTable", Right.MODIFY),
          Map.entry("UpdateTable", Right.MODIFY),
          Map.entry("MergeIntoTable", Right.MODIFY),
          Map.entry("ReplaceData", Right.MODIFY),
          Map.entry("WriteDelta", Right.MODIFY),
          Map.entry("DeltaDelete", Right.MODIFY),
          Map.entry("DeleteCommand", Right.MODIFY),
          Map.entry("DeltaUpdateTable", Right.MODIFY),
          Map.entry("UpdateCommand", Right.MODIFY),
          Map.entry("DeltaMergeInto", Right.MODIFY),
          Map.entry("MergeIntoCommand", Right.MODIFY),
          Map.entry("DeltaDynamicPartitionOverwriteCommand", Right.MODIFY),
          Map.entry("OptimizeTableCommand", Right.MODIFY),
          Map.entry("VacuumTableCommand", Right.MODIFY),
          Map.entry("RestoreTableCommand", Right.MODIFY),
          Map.entry("TruncateDeltaTableCommand", Right.MODIFY),
          Map.entry("ShowDeltaPartitionsCommand", Right.SELECT),
          Map.entry("ShowDeltaTableColumnsCommand", Right.SELECT),
          Map.entry("DescribeDeltaHistory", Right.SELECT),
          Map.entry("DescribeDeltaHistoryCommand", Right.SELECT),
          Map.entry("DescribeDeltaDetailCommand", Right.OWNER),
          Map.entry("AddPartitionField", Right.OWNER),
          Map.entry("CreateOrReplaceBranch", Right.OWNER),
          Map.entry("CreateOrReplaceTag", Right.OWNER),
          Map.entry("DropBranch", Right.OWNER),
          Map.entry("DropIdentifierFields", Right.OWNER),
          Map.entry("DropPartitionField", Right.OWNER),
          Map.entry("DropTag", Right.OWNER),
          Map.entry("ReplacePartitionField", Right.OWNER),
          Map.entry("SetIdentifierFields", Right.OWNER),
          Map.entry("SetWriteDistributionAndOrdering", Right.OWNER),
          Map.entry("TruncateTable", Right.MODIFY),
          Map.entry("TruncateTableCommand", Right.MODIFY),
          Map.entry("CreateTable", Right.CREATE),
          Map.entry("CreateTableAsSelect", Right.CREATE),
          Map.entry("CreateView", Right.CREATE),
          Map.entry("AlterViewAs", Right.OWNER),
          Map.entry("AlterViewAsCommand", Right.OWNER),
          Map.entry("DropTable", Right.OWNER),
          Map.entry("DropView", Right.OWNER),
          Map.entry("DropTableCommand", Right.OWNER),
          Map.entry("AddColumns", Right.OWNER),
          Map.entry("AlterTableAddColumnsCommand", Right.OWNER),
          Map.entry("AddColumnsCommand", Right.OWNER),
          Map.entry("AlterColumns", Right.OWNER),
          Map.entry("AlterTableChangeColumnCommand", Right.OWNER),
          Map.entry("RenameColumn", Right.OWNER),
          Map.entry("DropColumns", Right.OWNER),
          Map.entry("CommentOnTable", Right.OWNER),
          Map.entry("AlterTableSetPropertiesCommand", Right.OWNER),
          Map.entry("RenameTable", Right.OWNER),
          Map.entry("DropPartitions", Right.OWNER),
          Map.entry("AlterTableDropPartitionCommand", Right.OWNER),
          Map.entry("RenamePartitions", Right.OWNER),
          Map.entry("AlterTableRenamePartitionCommand", Right.OWNER),
          Map.entry("TruncatePartition", Right.MODIFY),
          Map.entry("RecoverPartitions", Right.OWNER),
          Map.entry("RepairTable", Right.OWNER),
          Map.entry("RepairTableCommand", Right.OWNER),
          Map.entry("AnalyzeTable", Right.OWNER),
          Map.entry("AnalyzeTableCommand", Right.OWNER),
          Map.entry("AnalyzeColumn", Right.OWNER),
          Map.entry("AnalyzeColumnCommand", Right.OWNER),
          Map.entry("RefreshTable", Right.SELECT),
          Map.entry("RefreshTableCommand", Right.SELECT),
          Map.entry("DescribeRelation", Right.SELECT),
          Map.entry("DescribeColumn", Right.SELECT),
          Map.entry("DescribeTableCommand", Right.SELECT),
          Map.entry("DescribeColumnCommand", Right.SELECT),
          Map.entry("DescribeRelationJsonCommand", Right.SELECT),
          Map.entry("ShowColumns", Right.SELECT),
          Map.entry("ShowColumnsCommand", Right.SELECT),
          Map.entry("ShowCreateTable", Right.SELECT),
          Map.entry("ShowCreateTableCommand", Right.SELECT),
          Map.entry("ShowPartitions", Right.SELECT),
          Map.entry("ShowPartitionsCommand", Right.SELECT),
          Map.entry("ShowTableProperties", Right.SELECT),
          Map.entry("ShowTablePropertiesCommand", Right.SELECT));

  /** The statements that show the text of a view, which names the tables that it reads. */
  private static final Set<String> SHOW_TEXT =
      Set.of(
          "ShowCreateTable",
          "ShowCreateTableCommand",
          "ShowTableProperties",
          "ShowTablePropertiesCommand");

  private StatementRights() {}

  /** Demands a right on an object, or throws the error for the user. */
  interface Need {
    void check(LogicalPlan statement, Right right, List<String> name);

    /** Demands the right on the location of a table that a statement creates. */
    void at(LogicalPlan statement, CatalogTable table, Location location);
  }

  /** Returns the parts of a statement that it writes to and does not read. */
  static List<LogicalPlan> targets(SparkSession session, LogicalPlan plan) {
    if (plan instanceof V2WriteCommand write) return List.of((LogicalPlan) write.table());
    if (plan instanceof InsertIntoDataSourceCommand insert)
      return List.of(insert.logicalRelation());
    return List.of();
  }

  /** Checks the rights that a node needs by itself, if it is a statement. */
  static void check(SparkSession session, LogicalPlan plan, Need need) {
    if (plan instanceof InsertIntoHadoopFsRelationCommand insert) insert(session, insert, need);
    else if (plan instanceof InsertIntoHiveTable insert)
      need.check(
          plan,
          insert.overwrite() ? Right.MODIFY : Right.INSERT,
          RelationNames.of(session, insert.table()));
    else if (plan instanceof InsertIntoDataSourceCommand insert) {
      var name = RelationNames.read(session, insert.logicalRelation());
      if (name == null)
        throw Refusals.onlyAdmin(
            plan.origin(), "INSERT into a source that is no table", "it has no rights");
      need.check(plan, insert.overwrite() ? Right.MODIFY : Right.INSERT, name);
    } else if (plan instanceof CreateDataSourceTableCommand create)
      create(session, plan, create.table(), need);
    else if (plan instanceof CreateExternalTable create)
      need.check(plan, Right.CREATE, RelationNames.of(session, create.table()));
    else if (plan instanceof CreateDataSourceTableAsSelectCommand create) {
      create(session, plan, create.table(), need);
      if (create.mode() == SaveMode.Overwrite || create.mode() == SaveMode.Append)
        throw Refusals.onlyAdmin(plan.origin(), "a table that is replaced", "it has an owner");
      ApprovedPaths.add(session, create.table());
    } else if (plan instanceof CreateViewCommand create) view(session, create, need);
    else if (plan instanceof CreateSQLFunctionCommand create) function(session, create, need);
    else if (plan instanceof AlterTableRenameCommand rename) rename(session, rename, need);
    else {
      if (plan instanceof AlterTableSetPropertiesCommand set) properties(set);
      var right = RIGHTS.get(plan.getClass().getSimpleName());
      if (right == null) return;
      var names = names(session, plan);
      if (names.isEmpty() && (FormatStatements.isOf(plan) || FormatStatements.changesFirst(plan)))
        throw Refusals.onlyAdmin(plan.origin(), "a table without a name", "it has no rights");
      needAll(plan, right, names, need);
      if (SHOW_TEXT.contains(plan.getClass().getSimpleName()))
        for (var name : names)
          if (isView(session, name) || isOfFormat(plan)) need.check(plan, Right.OWNER, name);
    }
  }

  /** Returns whether a statement shows a table of a format: its properties have its location. */
  static boolean isOfFormat(LogicalPlan show) {
    return show.children().head() instanceof ResolvedTable table
        && !(table.table() instanceof V1Table);
  }

  private static boolean isView(SparkSession session, List<String> name) {
    var catalog = session.sessionState().catalog();
    var table = new TableIdentifier(name.get(name.size() - 1), Option.apply(name.get(1)));
    return name.get(0).equals(Tables.CATALOG)
        && catalog.tableExists(table)
        && catalog.getTempViewOrPermanentTableMetadata(table).tableType().name().equals("VIEW");
  }

  private static void needAll(LogicalPlan plan, Right right, List<List<String>> names, Need need) {
    for (var name : names) need.check(plan, right, name);
  }

  private static void insert(
      SparkSession session, InsertIntoHadoopFsRelationCommand insert, Need need) {
    var overwrites = insert.mode() == SaveMode.Overwrite;
    if (insert.catalogTable().isDefined())
      need.check(
          insert,
          overwrites ? Right.MODIFY : Right.INSERT,
          RelationNames.of(session, insert.catalogTable().get()));
    else if (!ApprovedPaths.has(session, insert.outputPath()))
      throw Refusals.onlyAdmin(insert.origin(), "writes to a folder", "it belongs to no table");
  }

  private static void create(
      SparkSession session, LogicalPlan plan, CatalogTable table, Need need) {
    var options = CollectionConverters.asJava(table.storage().properties());
    if (!options.entrySet().stream()
        .allMatch(each -> FileTableOptions.isForUsers(each.getKey(), each.getValue())))
      throw Refusals.onlyAdmin(plan.origin(), "an option of the table", "see the rights");
    var location = table.storage().locationUri();
    if (table.tableType().name().equals("MANAGED") == location.isDefined())
      throw Refusals.onlyAdmin(plan.origin(), "tables of this kind", "see the rights");
    if (location.isDefined()) need.at(plan, table, TableLocations.of(session, location.get()));
    need.check(plan, Right.CREATE, RelationNames.of(session, table));
  }

  private static void rename(SparkSession session, AlterTableRenameCommand rename, Need need) {
    var before = RelationNames.of(session, rename.oldName());
    need.check(rename, Right.OWNER, before);
    var after = new ArrayList<>(before.subList(0, before.size() - 1));
    after.add(rename.newName().table());
    need.check(rename, Right.CREATE, after);
  }

  /** Refuses properties but the comment: others have a meaning for Spark or JetSQL. */
  private static void properties(AlterTableSetPropertiesCommand set) {
    if (!CollectionConverters.asJava(set.properties()).keySet().equals(Set.of("comment")))
      throw Refusals.onlyAdmin(set.origin(), "properties of a table", "they belong to the engine");
  }

  private static void function(SparkSession session, CreateSQLFunctionCommand create, Need need) {
    if (create.isTemp())
      throw Refusals.onlyAdmin(create.origin(), "temporary functions", "they have no owner");
    var name = create.name();
    need.check(
        create,
        Right.CREATE,
        RelationNames.of(session, new TableIdentifier(name.funcName(), name.database())));
  }

  private static void view(SparkSession session, CreateViewCommand create, Need need) {
    if (create.viewType() == LocalTempView$.MODULE$) return;
    if (create.viewType() != PersistedView$.MODULE$)
      throw Refusals.onlyAdmin(create.origin(), "global temporary views", "all sessions see them");
    var name = RelationNames.of(session, create.name());
    need.check(create, Right.CREATE, name);
    if (create.replace() && session.sessionState().catalog().tableExists(create.name()))
      need.check(create, Right.OWNER, name);
  }

  /** Returns the names in a statement: of its resolved parts, and in its own fields. */
  private static List<List<String>> names(SparkSession session, LogicalPlan plan) {
    var names = new ArrayList<List<String>>();
    var own = RelationNames.isRead(plan) ? RelationNames.read(session, plan) : null;
    if (own != null) names.add(own);
    for (var child : Plans.list(plan.children())) {
      var name = RelationNames.named(child);
      if (name != null) names.add(name);
    }
    if (plan instanceof V2WriteCommand write)
      names.add(RelationNames.read(session, (LogicalPlan) write.table()));
    if (FormatStatements.changesFirst(plan))
      for (var leaf : Plans.list(plan.children().head().collectLeaves()))
        if (RelationNames.isRead(leaf)) names.add(RelationNames.read(session, leaf));
    if (FormatStatements.isOf(plan)) names.addAll(FormatStatements.names(session, plan));
    var fields = CollectionConverters.asJava(((Product) plan).productIterator());
    while (fields.hasNext()) {
      var field = fields.next();
      var value = field instanceof Option<?> option && option.isDefined() ? option.get() : field;
      if (value instanceof CatalogTable table) names.add(RelationNames.of(session, table));
      if (value instanceof TableIdentifier table && !isTempView(session, table))
        names.add(RelationNames.of(session, table));
    }
    return names;
  }

  private static boolean isTempView(SparkSession session, TableIdentifier table) {
    return table.database().isEmpty() && session.sessionState().catalog().isTempView(table);
  }
}
