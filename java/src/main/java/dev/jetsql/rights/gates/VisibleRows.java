package dev.jetsql.rights.gates;

import dev.jetsql.catalog.Tables;
import dev.jetsql.common.LeafCommand;
import dev.jetsql.common.Sequences;
import dev.jetsql.rights.Rights;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.ResolvedNamespace;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowTables;
import org.apache.spark.sql.execution.command.DescribeTableCommand;
import org.apache.spark.sql.execution.command.RunnableCommand;
import org.apache.spark.sql.execution.command.ShowNamespacesCommand;
import org.apache.spark.sql.execution.command.ShowTablesCommand;
import org.apache.spark.sql.execution.command.ShowViewsCommand;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A statement that lists tables, views or schemas, of which the user sees only some, or the
 * properties of a table.
 */
public final class VisibleRows extends LeafCommand {
  private static final long serialVersionUID = 1L;

  /** The rows of DESCRIBE EXTENDED that show what a view reads, or where files are. */
  private static final Set<String> HIDDEN_ROWS =
      Set.of(
          "Location",
          "Storage Properties",
          "Table Properties",
          "View Original Text",
          "View Query Output Columns",
          "View Text");

  private final transient RunnableCommand list;
  private final transient Rights rights;
  private final String user;

  /** Creates the statement; Spark copies it with this constructor. */
  public VisibleRows(RunnableCommand list, Rights rights, String user) {
    super(list, rights, user);
    this.list = list;
    this.rights = rights;
    this.user = user;
  }

  /** Returns a plan with its list replaced, if it is one. */
  static LogicalPlan only(Rights rights, String user, LogicalPlan plan) {
    if (plan instanceof DescribeTableCommand describe && describe.isExtended())
      return new VisibleRows(describe, rights, user);
    if (plan instanceof ShowTables show) return only(rights, user, command(show));
    return plan instanceof ShowTablesCommand
            || plan instanceof ShowViewsCommand
            || plan instanceof ShowNamespacesCommand
        ? new VisibleRows((RunnableCommand) plan, rights, user)
        : plan;
  }

  /** Returns the command for the tables of a schema in Spark's catalogue. */
  private static ShowTablesCommand command(ShowTables show) {
    if (show.namespace() instanceof ResolvedNamespace named
        && named.catalog().name().equals(Tables.CATALOG)
        && named.namespace().size() == 1)
      return new ShowTablesCommand(
          Option.apply(named.namespace().head()),
          show.pattern(),
          show.output(),
          false,
          Option.empty());
    throw Refusals.onlyAdmin(
        show.origin(), "SHOW TABLES of another catalogue", "it lists all of them");
  }

  @Override
  public Seq<Attribute> output() {
    return ((LogicalPlan) list).output();
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    var visible = new ArrayList<Row>();
    for (var row : CollectionConverters.asJava(list.run(session)))
      if (isVisible(row)) visible.add(row);
    return Sequences.of(visible);
  }

  /** Returns whether the user sees what a row names: a schema, or a schema, a name and a flag. */
  private boolean isVisible(Row row) {
    if (list instanceof DescribeTableCommand) return !HIDDEN_ROWS.contains(row.getString(0));
    if (list instanceof ShowNamespacesCommand)
      return rights.seesSchema(user, List.of(Tables.CATALOG, row.getString(0)));
    return row.getBoolean(2)
        || rights.sees(user, List.of(Tables.CATALOG, row.getString(0), row.getString(1)));
  }
}
