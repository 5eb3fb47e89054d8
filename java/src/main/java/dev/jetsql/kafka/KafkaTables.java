package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.sql.OneStep;
import java.util.HashMap;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.AddColumns;
import org.apache.spark.sql.catalyst.plans.logical.AlterTableClusterBy;
import org.apache.spark.sql.catalyst.plans.logical.CacheTable;
import org.apache.spark.sql.catalyst.plans.logical.ColumnDefinition;
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
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.datasources.CreateTable;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.SchemaUtils;
import scala.Option;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * CREATE TABLE ... USING kafka, with IF NOT EXISTS and AS SELECT: Spark would make such a table only with the
 * connector's own options and columns. Everything but the last step is Spark's: names, columns, where it is stored.
 */
public class KafkaTables {
  /** What a statement that makes a Kafka table says wrong, at its place; every other statement is fine. */
  public static void check(org.apache.spark.sql.classic.SparkSession session, LogicalPlan command) {
    TableSpecBase spec = null;
    Seq parts = null;
    StructType columns = null;
    if (command instanceof org.apache.spark.sql.catalyst.plans.logical.CreateTable) {
      org.apache.spark.sql.catalyst.plans.logical.CreateTable create =
          (org.apache.spark.sql.catalyst.plans.logical.CreateTable) command;
      spec = create.tableSpec();
      parts = create.partitioning();
      columns = columns(create.columns());
    } else if (command instanceof org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect) {
      org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect create =
          (org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect) command;
      spec = create.tableSpec();
      parts = create.partitioning();
    }
    if (!(spec instanceof UnresolvedTableSpec)) return;
    UnresolvedTableSpec table = (UnresolvedTableSpec) spec;
    if (table.provider().isEmpty() || !"kafka".equalsIgnoreCase((String) table.provider().get())) return;
    if (!parts.isEmpty() || table.location().isDefined()) {
      throw Exceptions.raise(JetSqlException.of("NOT_SUPPORTED", "0A000", "A Kafka table has no PARTITIONED BY,"
          + " CLUSTERED BY or LOCATION: its topic has partitions of its own."));
    }
    if (columns != null) SchemaUtils.checkSchemaColumnNameDuplication(columns, session.sessionState().conf().caseSensitiveAnalysis());
    KafkaOptions.check(table, columns);
    Connector.load(session.sparkContext());
  }

  private static StructType columns(Seq definitions) {
    StructType found = new StructType();
    scala.collection.Iterator each = definitions.iterator();
    while (each.hasNext()) {
      ColumnDefinition column = (ColumnDefinition) each.next();
      if (column.generationExpression().isDefined() || column.identityColumnSpec().isDefined()) {
        throw Exceptions.raise(JetSqlException.of("NOT_SUPPORTED", "0A000", "The column " + column.name()
            + " is GENERATED, which columns of a Kafka table can't be. Write its expression in the query that inserts."));
      }
      found = found.add(column.toV1Column());
    }
    return found;
  }

  /** Why a statement is not possible with a Kafka table; null for one that is. */
  public static String refused(LogicalPlan command) {
    if (command instanceof DeleteFromTable || command instanceof UpdateTable || command instanceof MergeIntoTable) {
      return "What is in a Kafka topic can't be changed: messages can only be added, with INSERT INTO.";
    }
    if (command instanceof TruncateTable || command instanceof TruncatePartition) {
      return "What is in a Kafka topic can't be deleted from here: its retention does that, or kafka-delete-records.";
    }
    if (command instanceof CacheTable) {
      return "A Kafka table is read from its topic every time. CACHE TABLE name AS SELECT ... keeps what is there now.";
    }
    boolean alters = command instanceof AddColumns || command instanceof ReplaceColumns || command instanceof DropColumns
        || command instanceof RenameColumn || command instanceof SetTableLocation || command instanceof AlterTableClusterBy
        || command instanceof SetTableSerDeProperties;
    return alters ? "Columns and options of a Kafka table can't be altered. DROP TABLE and CREATE TABLE make it anew, and"
        + " leave the topic as it is." : null;
  }

  /** Takes the tables over that Spark is about to make. */
  public static class Made extends AbstractFunction1 {
    public Object apply(Object session) { return new MadeRule(); }
  }

  public static class MadeRule extends Rule {
    public TreeNode apply(TreeNode plan) { return ((LogicalPlan) plan).resolveOperators(new OnCreate()); }
  }

  static class OnCreate extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      if (!(node instanceof CreateTable) || !KafkaTable.is(((CreateTable) node).tableDesc())) return false;
      Option query = ((CreateTable) node).query();
      return query.isEmpty() || ((LogicalPlan) query.get()).resolved();
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      CreateTable create = (CreateTable) node;
      LogicalPlan query = create.query().isEmpty() ? null : (LogicalPlan) create.query().get();
      return new Create(create.tableDesc(), create.mode() == SaveMode.Ignore, query);
    }
  }

  public static class Create extends OneStep {
    private final CatalogTable table;
    private final boolean ifNotExists;
    private final LogicalPlan query;

    public Create(CatalogTable table, boolean ifNotExists, LogicalPlan query) {
      super(new Object[] {table, Boolean.valueOf(ifNotExists), query});
      this.table = table;
      this.ifNotExists = ifNotExists;
      this.query = query;
    }

    /** Whether it is to be filled from a stream. */
    public boolean streams() { return query != null && query.isStreaming(); }

    public Seq run(SparkSession given) {
      org.apache.spark.sql.classic.SparkSession session = (org.apache.spark.sql.classic.SparkSession) given;
      SessionCatalog catalog = session.sessionState().catalog();
      if (ifNotExists && catalog.tableExists(table.identifier())) return (Seq) Nil$.MODULE$;
      if (query != null) SchemaUtils.checkSchemaColumnNameDuplication(query.schema(), session.sessionState().conf().caseSensitiveAnalysis());
      if (query != null) KafkaOptions.check((scala.collection.immutable.Map) table.storage().properties(), query.schema());
      catalog.createTable(with(columns()), ifNotExists, false);
      if (query != null) fill(session, catalog);
      return (Seq) Nil$.MODULE$;
    }

    private StructType columns() {
      if (query != null) return query.schema();
      return table.schema().length() > 0 ? table.schema() : KafkaTable.message(table);
    }

    private void fill(org.apache.spark.sql.classic.SparkSession session, SessionCatalog catalog) {
      try {
        CatalogTable made = catalog.getTableMetadata(table.identifier());
        new KafkaTable(session, made, new HashMap()).insert(Dataset.ofRows(session, query));
      } catch (Exception e) {
        catalog.dropTable(table.identifier(), true, false);
        throw Exceptions.raise(e);
      }
    }

    private CatalogTable with(StructType columns) {
      return table.copy(table.identifier(), table.tableType(), table.storage(), columns, table.provider(),
          table.partitionColumnNames(), table.bucketSpec(), table.owner(), table.createTime(), table.lastAccessTime(),
          table.createVersion(), table.properties(), table.stats(), table.viewText(), table.comment(), table.collation(),
          table.unsupportedFeatures(), table.tracksPartitionsInCatalog(), table.schemaPreservesCase(),
          table.ignoredProperties(), table.viewOriginalText(), table.multipartIdentifier());
    }

    public String argString(int maxFields) { return table.identifier().unquotedString(); }
  }
}
