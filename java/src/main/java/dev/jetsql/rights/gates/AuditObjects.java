package dev.jetsql.rights.gates;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.StatementObjects;
import dev.jetsql.rights.Location;
import dev.jetsql.rights.Right;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Notes the objects of each statement for the audit log, after the gates have let it pass, also in
 * a home without users. It notes a view, and not what the view reads.
 */
public final class AuditObjects extends Rule<LogicalPlan> {
  private final SparkSession session;

  public AuditObjects(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    var key = StatementObjects.key(session);
    if (key == null || AnalysisContext.get().nestedViewDepth() > 0) return plan;
    if (ApprovedPlans.isRunning()) return plan; // what a statement does, which is noted
    if (plan instanceof Command) StatementObjects.noteCommand(key);
    new Walk(key).visit(plan);
    return plan;
  }

  /** The walk over one plan. */
  private final class Walk extends PlanParts implements StatementRights.Need {
    private final String key;

    Walk(String key) {
      this.key = key;
    }

    @Override
    boolean enter(LogicalPlan plan) {
      if (plan instanceof CommandResult) return false; // rows of a statement that was noted
      if (plan instanceof View view && !view.isTempView()) {
        note(Right.SELECT, RelationNames.of(session, view.desc()));
        return false;
      }
      if (RelationNames.isRead(plan)) note(Right.SELECT, RelationNames.read(session, plan));
      StatementRights.targets(session, plan).forEach(this::skip);
      command(plan);
      return true;
    }

    @Override
    boolean enter(Expression expression) {
      return expression instanceof SubqueryExpression
          || expression.containsPattern(TreePattern.PLAN_EXPRESSION());
    }

    /** Notes the objects of a command. An admin may run what the rights table refuses to others. */
    private void command(LogicalPlan plan) {
      try {
        StatementRights.check(session, plan, this);
      } catch (Exception e) { // Scala's methods declare no checked exception
        return;
      }
    }

    @Override
    public void check(LogicalPlan statement, Right right, List<String> name) {
      note(right, name);
    }

    @Override
    public void at(LogicalPlan statement, CatalogTable table, Location location) {
      note(Right.USAGE, List.of(location.toString()));
    }

    private void note(Right right, List<String> name) {
      var object = name == null ? "(a source without a table)" : String.join(".", name);
      StatementObjects.note(key, right.name(), object, true);
    }
  }
}
