package dev.jetsql.rights.gates;

import dev.jetsql.catalog.Tables;
import dev.jetsql.common.LeafCommand;
import dev.jetsql.common.Sequences;
import dev.jetsql.functions.ListPythonFunctions;
import dev.jetsql.plans.Plans;
import dev.jetsql.rights.Right;
import dev.jetsql.rights.Rights;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.analysis.ResolvedNamespace;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.DescribeNamespace;
import org.apache.spark.sql.catalyst.plans.logical.DescribeRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ShowTables;
import org.apache.spark.sql.catalyst.plans.logical.ShowTablesExtended;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.DescribeDatabaseCommand;
import org.apache.spark.sql.execution.command.DescribeRelationJsonCommand;
import org.apache.spark.sql.execution.command.DescribeTableCommand;
import org.apache.spark.sql.execution.command.RunnableCommand;
import org.apache.spark.sql.execution.command.ShowCatalogsCommand;
import org.apache.spark.sql.execution.command.ShowFunctionsCommand;
import org.apache.spark.sql.execution.command.ShowNamespacesCommand;
import org.apache.spark.sql.execution.command.ShowTablesCommand;
import org.apache.spark.sql.execution.command.ShowViewsCommand;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** A statement that lists tables, views, schemas or functions, of which the user sees only some. */
public final class VisibleRows extends LeafCommand {
  private static final long serialVersionUID = 1L;

  private static final Set<String> HIDDEN_FACTS = Set.of("Location", "Properties");

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
  static LogicalPlan only(SparkSession session, Rights rights, String user, LogicalPlan plan) {
    if (plan instanceof DescribeTableCommand describe && describe.isExtended())
      return owns(rights, user, RelationNames.of(session, describe.table()))
          ? plan
          : new VisibleDescription(describe, false);
    if (plan instanceof DescribeRelation describe
        && describe.isExtended()
        && StatementRights.isOfFormat(describe))
      return owns(rights, user, RelationNames.named(describe.children().head()))
          ? plan
          : CaseClasses.copy(describe, Map.of("isExtended", false));
    if (VisibleHistory.isHistory(plan)) return VisibleHistory.of(session, rights, user, plan);
    if (plan instanceof DescribeRelationJsonCommand describe)
      return owns(rights, user, RelationNames.named(describe.child()))
          ? plan
          : new VisibleDescription(describe, true);
    if (plan instanceof DescribeNamespace describe)
      return new VisibleRows(
          new DescribeDatabaseCommand(
              schema(describe, describe.namespace()), describe.extended(), describe.output()),
          rights,
          user);
    if (plan instanceof ShowTables show)
      return only(session, rights, user, command(show, show.namespace(), show.pattern(), false));
    if (plan instanceof ShowTablesExtended show) {
      var pattern = Option.apply(show.pattern());
      return only(session, rights, user, command(show, show.namespace(), pattern, true));
    }
    return plan instanceof ShowTablesCommand
            || plan instanceof ShowViewsCommand
            || plan instanceof ShowNamespacesCommand
            || plan instanceof ShowFunctionsCommand
            || plan instanceof ShowCatalogsCommand
            || plan instanceof DescribeDatabaseCommand
            || plan instanceof ListPythonFunctions
        ? new VisibleRows((RunnableCommand) plan, rights, user)
        : plan;
  }

  static boolean owns(Rights rights, String user, List<String> name) {
    return name != null && rights.allows(user, Right.OWNER, name);
  }

  /** Returns the command for the tables of a schema in Spark's catalogue. */
  private static ShowTablesCommand command(
      LogicalPlan show, LogicalPlan namespace, Option<String> pattern, boolean isExtended) {
    return new ShowTablesCommand(
        Option.apply(schema(show, namespace)), pattern, show.output(), isExtended, Option.empty());
  }

  /** Returns the name of a schema in Spark's own catalogue. */
  private static String schema(LogicalPlan statement, LogicalPlan namespace) {
    if (namespace instanceof ResolvedNamespace named
        && named.catalog().name().equals(Tables.CATALOG)
        && named.namespace().size() == 1) return named.namespace().head();
    throw Refusals.onlyAdmin(
        statement.origin(), "this statement about another catalogue", "it shows all of it");
  }

  @Override
  public Seq<Attribute> output() {
    return ((LogicalPlan) list).output();
  }

  @Override
  public Seq<Row> run(org.apache.spark.sql.SparkSession session) {
    var visible = new ArrayList<Row>();
    for (var row : CollectionConverters.asJava(list.run(session)))
      if (isVisible((SparkSession) session, row)) visible.add(visible((SparkSession) session, row));
    return Sequences.of(visible);
  }

  /**
   * Returns a row, of SHOW TABLE EXTENDED without the facts that only the owner of a table sees.
   */
  private Row visible(SparkSession session, Row row) {
    if (!(list instanceof ShowTablesCommand show) || !show.isExtended() || row.getBoolean(2))
      return row;
    var name = List.of(Tables.CATALOG, row.getString(0), row.getString(1));
    return owns(rights, user, name)
        ? row
        : RowFactory.create(
            row.getString(0),
            row.getString(1),
            false,
            VisibleDescription.of(session, row.getString(0), row.getString(1)));
  }

  /**
   * Returns whether the user sees what a row names: a schema, a function, a catalogue, a fact about
   * a schema, or a schema, a name and a flag.
   */
  private boolean isVisible(SparkSession session, Row row) {
    if (list instanceof DescribeDatabaseCommand) return !HIDDEN_FACTS.contains(row.getString(0));
    if (list instanceof ShowCatalogsCommand)
      return row.getString(0).equals(Tables.CATALOG)
          || rights.seesSchema(user, List.of(row.getString(0)));
    if (list instanceof ShowNamespacesCommand)
      return rights.seesSchema(user, List.of(Tables.CATALOG, row.getString(0)));
    if (list instanceof ShowFunctionsCommand || list instanceof ListPythonFunctions)
      return isVisibleFunction(session, row.getString(0));
    return row.getBoolean(2)
        || rights.sees(user, List.of(Tables.CATALOG, row.getString(0), row.getString(1)));
  }

  /** Returns whether a user sees a function: those of Spark have names without a schema. */
  private boolean isVisibleFunction(SparkSession session, String name) {
    if (!name.contains(".")) return true;
    try {
      var parts = Plans.list(session.sessionState().sqlParser().parseMultipartIdentifier(name));
      return parts.size() > 1 && rights.allowsFunction(user, parts);
    } catch (ParseException e) {
      return false;
    }
  }
}
