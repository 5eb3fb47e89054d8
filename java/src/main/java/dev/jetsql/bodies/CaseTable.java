package dev.jetsql.bodies;

import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InitCap;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.String2TrimExpression;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Spark's table of title cases, which it builds at the first call of `upper`, `lower`, `initcap` or
 * `trim`. That takes a second in a new Java, for which the first row of a job would wait.
 */
final class CaseTable {
  private static final String OWNER = "org.apache.spark.sql.catalyst.util.CollationAwareUTF8String";
  private static final AtomicBoolean BEGUN = new AtomicBoolean();

  private CaseTable() {}

  /** Builds the table in the background if a query needs it. */
  static void prepare(LogicalPlan query) {
    if (BEGUN.get() || !query.exists(node -> node.expressions().exists(CaseTable::needs))) return;
    if (!BEGUN.compareAndSet(false, true)) return;
    var thread = new Thread(CaseTable::build, "jetsql-case-table");
    thread.setDaemon(true);
    thread.start();
  }

  private static boolean needs(Expression value) {
    return value.exists(
        each ->
            each instanceof Upper
                || each instanceof Lower
                || each instanceof InitCap
                || each instanceof String2TrimExpression);
  }

  private static void build() {
    try {
      Class.forName(OWNER, true, CaseTable.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException("This Spark has no " + OWNER, e);
    }
  }
}
