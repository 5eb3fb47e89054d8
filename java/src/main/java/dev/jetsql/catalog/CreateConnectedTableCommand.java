package dev.jetsql.catalog;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.CreateExternalTable;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Sequences;
import dev.jetsql.connections.ConnectedTables;
import dev.jetsql.connections.NamedSecrets;
import dev.jetsql.versions.CaseClasses;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.errors.QueryCompilationErrors$;
import org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Creates a JDBC table with a connection in the catalog and, for AS SELECT, a table with the rows
 * in the database. The catalog gets the name of the connection; Spark's own command would store the
 * options with which it reads the columns.
 */
public final class CreateConnectedTableCommand extends CreateExternalTable {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the command. The constructor is public because Spark copies plans by reflection.
   *
   * @param query null without AS SELECT
   */
  public CreateConnectedTableCommand(CatalogTable table, boolean ifNotExists, LogicalPlan query) {
    super(table, ifNotExists, query);
  }

  @Override
  public Seq<Row> run(SparkSession sparkSession) {
    var session = (org.apache.spark.sql.classic.SparkSession) sparkSession;
    var catalog = session.sessionState().catalog();
    Seq<Row> noRows = Sequences.of();
    if (catalog.tableExists(table.identifier())) {
      if (ifNotExists) return noRows;
      throw Exceptions.raise(
          QueryCompilationErrors$.MODULE$.tableAlreadyExistsError(table.identifier()));
    }
    if (table.schema().length() > 0)
      throw Exceptions.raise(
          JetSqlException.of(
              "NOT_SUPPORTED",
              "0A000",
              "A JDBC table with a connection has the columns of the table in the database. Leave"
                  + " out the columns."));
    var options = ConnectedTables.options("jdbc", table);
    if (query != null) {
      var rows = Dataset.ofRows(session, query).write().format("jdbc");
      ApprovedPlans.run(
          () -> rows.options(NamedSecrets.reveal(options)).mode(SaveMode.ErrorIfExists).save());
    }
    var relation =
        new JdbcRelationProvider()
            .createRelation(
                session.sqlContext(),
                scala.collection.immutable.Map.from(CollectionConverters.asScala(options)));
    catalog.createTable(
        CaseClasses.copy(table, Map.of("schema", relation.schema())), ifNotExists, false);
    return noRows;
  }
}
