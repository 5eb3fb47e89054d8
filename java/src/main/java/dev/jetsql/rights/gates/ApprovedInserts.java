package dev.jetsql.rights.gates;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.Principals;
import dev.jetsql.rights.Rights;
import dev.jetsql.versions.CaseClasses;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructType;
import scala.PartialFunction;

/**
 * Lets an INSERT of a user into a table of another system run. The rule comes after the gates,
 * which have checked the right on the table.
 */
public final class ApprovedInserts extends Rule<LogicalPlan> {
  private final SparkSession session;

  public ApprovedInserts(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    var rights = Rights.current();
    if (rights == null || ApprovedPlans.isRunning() || rights.isAdmin(Principals.of(session)))
      return plan;
    return plan.resolveOperators(PartialFunction.fromFunction(ApprovedInserts::resolve));
  }

  private static LogicalPlan resolve(LogicalPlan node) {
    if (!(node instanceof InsertIntoDataSourceCommand insert)) return node;
    var target = insert.logicalRelation();
    if (target.relation() instanceof Approved) return node;
    LogicalRelation approved =
        CaseClasses.copy(target, Map.of("relation", new Approved(target.relation())));
    return insert.copy(approved, insert.query(), insert.overwrite());
  }

  /** A table whose INSERT was checked. */
  private static final class Approved extends BaseRelation implements InsertableRelation {
    private final BaseRelation table;

    Approved(BaseRelation table) {
      this.table = table;
    }

    @Override
    public SQLContext sqlContext() {
      return table.sqlContext();
    }

    @Override
    public StructType schema() {
      return table.schema();
    }

    @Override
    public void insert(Dataset<Row> rows, boolean overwrite) {
      ApprovedPlans.run(() -> ((InsertableRelation) table).insert(rows, overwrite));
    }
  }
}
