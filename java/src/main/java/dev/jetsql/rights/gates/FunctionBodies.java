package dev.jetsql.rights.gates;

import dev.jetsql.versions.SparkCalls;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.SQLFunctionContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;

/**
 * The bodies of functions in SQL, which Spark analyzes for each call. They can have another schema
 * than the session, and a caller may not learn what they name.
 *
 * <p>Spark forgets that it is in a function while it analyzes a subquery there. So the relations of
 * a body get a tag when Spark begins with it, which the copies of a node keep.
 */
final class FunctionBodies {
  private static final TreeNodeTag<Boolean> OF_BODY = new TreeNodeTag<>("jetsql.functionBody");

  private FunctionBodies() {}

  /** Returns whether Spark analyzes the body of a function in this thread, but for subqueries. */
  static boolean isAnalyzing() {
    return SQLFunctionContext.get().nestedSQLFunctionDepth() > 0
        || AnalysisContext.get().catalogAndNamespace().nonEmpty()
        || SparkCalls.isInSqlFunction();
  }

  /** Returns whether a name of a table is that of a body, and remembers it. */
  static boolean names(LogicalPlan named) {
    if (isAnalyzing()) named.setTagValue(OF_BODY, true);
    return isOf(named);
  }

  /** Returns whether a node has been made of a name in a body. */
  static boolean isOf(LogicalPlan node) {
    return node.getTagValue(OF_BODY).isDefined();
  }
}
