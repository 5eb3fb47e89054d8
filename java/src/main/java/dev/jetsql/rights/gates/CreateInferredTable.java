package dev.jetsql.rights.gates;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.CreateExternalTable;
import dev.jetsql.common.Principals;
import dev.jetsql.rights.Rights;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.command.CreateDataSourceTableCommand;
import scala.collection.immutable.Seq;

/**
 * Creates a table at a location of a user with the columns of the files in it. Spark's own command
 * would follow the log of a sink of Spark that is there, which can name files elsewhere, and show
 * their columns.
 */
public final class CreateInferredTable extends CreateExternalTable {
  private static final long serialVersionUID = 1L;
  private static final String IGNORE_LOG = "spark.sql.streaming.fileStreamSink.ignoreMetadata";

  /**
   * Creates the command. The constructor is public because Spark copies plans by reflection.
   *
   * @param query null: it has none
   */
  public CreateInferredTable(CatalogTable table, boolean ifNotExists, LogicalPlan query) {
    super(table, ifNotExists, query);
  }

  @Override
  public Seq<Row> run(SparkSession sparkSession) {
    var session = (org.apache.spark.sql.classic.SparkSession) sparkSession;
    var copy = Principals.copyFor(session, Principals.of(session));
    copy.sessionState().conf().setConfString(IGNORE_LOG, "true");
    // Spark reads the columns of JSON and CSV with queries that name no table.
    return ApprovedPlans.call(() -> new CreateDataSourceTableCommand(table, ifNotExists).run(copy));
  }

  /** Replaces Spark's command. */
  public static final class Replace extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return Rights.current() != null
              && plan instanceof CreateDataSourceTableCommand create
              && create.table().schema().isEmpty()
              && create.table().storage().locationUri().isDefined()
          ? new CreateInferredTable(create.table(), create.ignoreIfExists(), null)
          : plan;
    }
  }
}
