package dev.jetsql.catalog;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.LeafCommand;
import dev.jetsql.common.Sequences;
import dev.jetsql.kafka.AddedColumns;
import dev.jetsql.kafka.KafkaTable;
import dev.jetsql.options.TableOptions;
import dev.jetsql.records.CsvRecords;
import dev.jetsql.records.FileStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.command.AlterTableAddColumnsCommand;
import org.apache.spark.sql.types.StructField;
import scala.PartialFunction;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * ALTER TABLE ... ADD COLUMNS of a table of the session catalog. Spark's own command refuses a
 * Kafka table, and accepts types that the format of the files does not have.
 *
 * <p>One statement runs at a time: of two that have read the same columns, the later one would
 * remove the column of the other.
 */
public final class AddColumnsCommand extends LeafCommand {
  private static final long serialVersionUID = 1L;
  private static final Object ONE_AT_A_TIME = new Object();

  private final TableIdentifier table;
  private final Seq<StructField> columns;

  /** Creates the command. The constructor is public because Spark copies plans by reflection. */
  public AddColumnsCommand(TableIdentifier table, Seq<StructField> columns) {
    super(new Object[] {table, columns});
    this.table = table;
    this.columns = columns;
  }

  @Override
  public Seq<Row> run(SparkSession sparkSession) {
    var session = (org.apache.spark.sql.classic.SparkSession) sparkSession;
    synchronized (ONE_AT_A_TIME) {
      try {
        add(session, session.sessionState().catalog().getTableMetadata(table));
      } catch (Exception e) { // a Scala method declares no checked exception
        throw Exceptions.raise(e);
      }
    }
    return Sequences.of();
  }

  private void add(org.apache.spark.sql.classic.SparkSession session, CatalogTable found) {
    if (!KafkaTable.isKafka(found)) {
      ColumnChanges.checkAdded(session, found, columns, origin());
      new AlterTableAddColumnsCommand(table, isCsv(found) ? marked() : columns).run(session);
      return;
    }
    var all = AddedColumns.check(session, found, columns, origin());
    var catalog = session.sessionState().catalog();
    catalog.refreshTable(table);
    catalog.alterTableDataSchema(table, all);
  }

  private static boolean isCsv(CatalogTable table) {
    return TableOptions.readsFiles(TableOptions.format(table)) && FileStream.isByOrder(table);
  }

  private Seq<StructField> marked() {
    List<StructField> marked = new ArrayList<>();
    for (var column : CollectionConverters.asJava(columns)) marked.add(CsvRecords.added(column));
    return Sequences.of(marked);
  }

  /** Replaces Spark's command, after the gates have checked it. */
  public static final class Replace extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.resolveOperators(PartialFunction.fromFunction(Replace::resolve));
    }

    private static LogicalPlan resolve(LogicalPlan node) {
      return node instanceof AlterTableAddColumnsCommand add
          ? new AddColumnsCommand(add.table(), add.colsToAdd())
          : node;
    }
  }
}
