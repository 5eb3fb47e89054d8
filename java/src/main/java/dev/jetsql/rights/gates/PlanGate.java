package dev.jetsql.rights.gates;

import dev.jetsql.catalog.Tables;
import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Principals;
import dev.jetsql.connections.TableLocations;
import dev.jetsql.functions.PythonFunctions;
import dev.jetsql.plans.Plans;
import dev.jetsql.rights.Location;
import dev.jetsql.rights.Right;
import dev.jetsql.rights.Rights;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.catalyst.plans.logical.DeserializeToObject;
import org.apache.spark.sql.catalyst.plans.logical.DropTable;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RowLevelWrite;
import org.apache.spark.sql.catalyst.plans.logical.SerializeFromObject;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.DescribeFunctionCommand;
import org.apache.spark.sql.execution.command.DescribeQueryCommand;
import org.apache.spark.sql.execution.command.DropTableCommand;
import org.apache.spark.sql.execution.command.ExplainCommand;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * The second and the third gate: check a plan that Spark has resolved.
 *
 * <p>The second gate knows the tables that names mean, and the views that they are read through. It
 * comes before Spark's own check, whose errors show columns of tables. The third gate is a net for
 * the operators that later rules make: Spark also checks the body of a view by itself, so that this
 * gate cannot know whose rights count.
 */
public final class PlanGate extends Rule<LogicalPlan> {
  /** The error that Spark raises before its last rules, which can remove the reason. */
  private static final String LATE = "INVALID_NON_DETERMINISTIC_EXPRESSIONS";

  private final SparkSession session;

  public PlanGate(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    var rights = Rights.current();
    if (rights == null) return plan;
    var user = restrictedUser(session, rights);
    if (user == null) return plan;
    var check = new Check(rights, user, true);
    check.visit(plan);
    if (check.hidden != null) hide(plan, check.hidden);
    return CheckedExplain.checked(VisibleRows.only(session, rights, user, plan));
  }

  /**
   * Raises Spark's errors of a plan before Spark does, and without the plan, which shows what the
   * user may not see.
   */
  private void hide(LogicalPlan plan, Hidden hidden) {
    if (CheckedExplain.isExplaining())
      throw Refusals.onlyAdmin(plan.origin(), "EXPLAIN of " + hidden.what, hidden.reason);
    try {
      session.sessionState().analyzer().checkAnalysis(plan.clone());
    } catch (Exception e) { // Scala's methods declare no checked exception
      var isLate = e instanceof AnalysisException error && LATE.equals(error.getCondition());
      if (!isLate) throw Exceptions.raise(Refusals.withoutPlan(e));
    }
  }

  /** Returns the user of a session, or null if the rights of a statement need no check here. */
  private static String restrictedUser(SparkSession session, Rights rights) {
    var user = Principals.of(session);
    var isBody = AnalysisContext.get().nestedViewDepth() > 0; // checked with the view around it
    if (user != null && (rights.isAdmin(user) || isBody)) return null;
    if (ApprovedPlans.isRunning()) return null;
    if (user == null) throw Refusals.noUser();
    return user;
  }

  static void checkClass(LogicalPlan plan) {
    var refusal = AllowList.PLANS.refusal(plan.getClass());
    if (refusal != null)
      throw Refusals.onlyAdmin(plan.origin(), plan.getClass().getSimpleName(), refusal);
  }

  /** Refuses an expression by its class, but not a call of a function that has rights. */
  static void checkClass(Expression expression) {
    if (PythonFunctions.called(expression) != null) return;
    var refusal = AllowList.EXPRESSIONS.refusal(expression.getClass());
    if (refusal != null)
      throw Refusals.onlyAdmin(expression.origin(), expression.getClass().getSimpleName(), refusal);
  }

  /** The third gate. */
  public static final class Net extends AbstractFunction1<LogicalPlan, BoxedUnit> {
    private final SparkSession session;

    public Net(SparkSession session) {
      this.session = session;
    }

    @Override
    public BoxedUnit apply(LogicalPlan plan) {
      var rights = Rights.current();
      if (rights == null) return BoxedUnit.UNIT;
      var user = restrictedUser(session, rights);
      if (user != null) new PlanGate(session).new Check(rights, user, false).visit(plan);
      return BoxedUnit.UNIT;
    }
  }

  /** What the text of a plan shows that its user may not see. */
  private enum Hidden {
    BODY("a view that you do not own", "it shows what the view reads"),
    OPTIONS("a Kafka table as a stream", "it shows the options of its connection");

    private final String what;
    private final String reason;

    Hidden(String what, String reason) {
      this.what = what;
      this.reason = reason;
    }
  }

  /** The check of one plan for one user: that of the session, or the owner of a view. */
  private final class Check extends PlanParts implements StatementRights.Need {
    private final Rights rights;
    private final String user;
    private final boolean withNames;
    private int bodies; // of functions, around the node that is visited
    private int changes; // of rows, around the node that is visited
    private Hidden hidden; // null for a plan that the user may see

    Check(Rights rights, String user, boolean withNames) {
      this.rights = rights;
      this.user = user;
      this.withNames = withNames;
      this.bodies = FunctionBodies.isAnalyzing() ? 1 : 0; // Spark analyzes a body by itself
    }

    @Override
    boolean enter(LogicalPlan plan) {
      if (FunctionBodies.isOf(plan)) bodies++;
      if (plan instanceof RowLevelWrite) changes++;
      checkClass(plan);
      if (plan instanceof DescribeFunctionCommand describe && describe.info().getDb() != null)
        throw Refusals.onlyAdmin(plan.origin(), "DESCRIBE of this function", "it shows its body");
      if (plan instanceof DeserializeToObject || plan instanceof SerializeFromObject) encoded(plan);
      if (plan instanceof CommandResult) return false; // rows of a statement that was checked
      if (plan instanceof ExplainCommand || plan instanceof DescribeQueryCommand) return false;
      if (plan instanceof View view && !view.isTempView()) {
        if (withNames) body(view);
        return false;
      }
      if (!withNames) return true;
      if (RelationNames.isRead(plan)) read(plan);
      StatementRights.targets(session, plan).forEach(this::skip);
      StatementRights.check(session, plan, this);
      return true;
    }

    @Override
    void leave(LogicalPlan plan) {
      if (FunctionBodies.isOf(plan)) bodies--;
      if (plan instanceof RowLevelWrite) changes--;
    }

    @Override
    boolean enter(Expression expression) {
      checkClass(expression);
      var function = withNames ? PythonFunctions.called(expression) : null;
      if (function != null && !rights.allowsFunction(user, function))
        throw bodies > 0
            ? Refusals.hiddenInBody(expression.origin())
            : Refusals.missing(expression.origin(), user, Right.USAGE, function);
      if (expression instanceof Attribute column && showsFiles(column))
        throw Refusals.onlyAdmin(
            expression.origin(), "the column " + column.name(), "it shows the names of files");
      return true;
    }

    /**
     * Returns whether a column is Spark's with the files of a table, or Iceberg's. Spark itself
     * reads Iceberg's for the changes of rows, in which the first gate refuses it.
     */
    private boolean showsFiles(Attribute column) {
      if (column.name().equalsIgnoreCase("_metadata")) return true;
      return withNames
          && changes == 0
          && column.name().equalsIgnoreCase("_file")
          && Plans.isMetadata(column);
    }

    /** Refuses the plans of programs. Spark itself reads the rows of a command in this way. */
    private static void encoded(LogicalPlan plan) {
      if (!(plan.children().head() instanceof LocalRelation))
        throw Refusals.onlyAdmin(
            plan.origin(), plan.getClass().getSimpleName(), "it runs code of the user");
    }

    private void read(LogicalPlan plan) {
      if (hidden == null && RelationNames.isStreamOfKafka(plan)) hidden = Hidden.OPTIONS;
      var name = RelationNames.read(session, plan);
      if (name == null)
        throw Refusals.onlyAdmin(plan.origin(), "a source that is no table", "it has no rights");
      if (!FormatStatements.isMetadata(plan)) need(plan, Right.SELECT, name);
      else need(plan, FormatStatements.rightOfMetadata(name), name.subList(0, name.size() - 1));
    }

    @Override
    public void check(LogicalPlan statement, Right right, List<String> name) {
      need(statement, right, name);
    }

    @Override
    public void at(LogicalPlan statement, CatalogTable table, Location location) {
      var format = table.provider().isDefined() ? table.provider().get() : "";
      if (!TableLocations.FORMATS.contains(format.toLowerCase(Locale.ROOT)))
        throw Refusals.onlyAdmin(
            statement.origin(), "LOCATION of a table USING " + format, "its files can name others");
      var refusal = TableLocations.refusal(session, rights, user, location);
      if (refusal != null) throw Refusals.notAllowed(statement.origin(), refusal);
    }

    /** Checks that the owner of a table still has the right on its location. */
    private void location(LogicalPlan node, List<String> name) {
      if (!name.get(0).equals(Tables.CATALOG) || name.size() != 3 || isDropped(node)) return;
      if (rights.isAdmin(rights.viewOwner(name))) return;
      var catalog = session.sharedState().externalCatalog();
      if (!catalog.tableExists(name.get(1), name.get(2))) return;
      var refusal = TableLocations.refusal(session, catalog.getTable(name.get(1), name.get(2)));
      if (refusal != null) throw Refusals.notAllowed(node.origin(), refusal);
    }

    private static boolean isDropped(LogicalPlan node) {
      return node instanceof DropTable || node instanceof DropTableCommand;
    }

    private void need(LogicalPlan node, Right right, List<String> name) {
      if (right == Right.CREATE) {
        var schema = name.subList(0, name.size() - 1);
        if (!rights.seesSchema(user, schema))
          throw Refusals.schemaNotFound(schema.subList(1, schema.size()));
        if (!rights.allowsCreate(user, schema))
          throw Refusals.missing(node.origin(), user, right, schema);
        return;
      }
      if (rights.allows(user, right, name)) {
        location(node, name);
        return;
      }
      if (bodies > 0 && !rights.sees(user, name)) throw Refusals.hiddenInBody(node.origin());
      if (!rights.sees(user, name))
        throw Refusals.notFound(session, node.origin(), name.subList(1, name.size()));
      throw Refusals.missing(node.origin(), user, right, name);
    }

    /** Checks the right on a persistent view, and its body with the rights of the view's owner. */
    private void body(View view) {
      var name = RelationNames.of(session, view.desc());
      need(view, Right.SELECT, name);
      var owner = rights.viewOwner(name);
      if (owner.equals(user)) {
        visit(view.child());
        return;
      }
      hidden = Hidden.BODY;
      if (rights.isAdmin(owner)) return;
      try {
        new Check(rights, owner, true).visit(view.child());
      } catch (Exception e) { // it names tables that the user may not see
        throw Exceptions.raise(
            Refusals.notAllowed(
                view.origin(),
                "The owner of the view %s has no right to read what it reads."
                    .formatted(String.join(".", name))));
      }
    }
  }
}
