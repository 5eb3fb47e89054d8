package dev.jetsql.common;

import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * A command that creates a table in the catalog whose rows are in another system and, for AS
 * SELECT, writes rows there.
 */
public abstract class CreateExternalTable extends LeafCommand {
  private static final long serialVersionUID = 1L;

  protected final CatalogTable table;
  protected final boolean ifNotExists;
  protected final LogicalPlan query;

  /**
   * Creates the command.
   *
   * @param query null without AS SELECT
   */
  protected CreateExternalTable(CatalogTable table, boolean ifNotExists, LogicalPlan query) {
    super(new Object[] {table, ifNotExists, query});
    this.table = table;
    this.ifNotExists = ifNotExists;
    this.query = query;
  }

  /** Returns the table to create. */
  public final CatalogTable table() {
    return table;
  }

  /** Returns whether the statement fills the table from a stream. */
  public final boolean readsStream() {
    return query != null && query.isStreaming();
  }

  @Override
  public final String argString(int maxFields) {
    return table.identifier().unquotedString();
  }
}
