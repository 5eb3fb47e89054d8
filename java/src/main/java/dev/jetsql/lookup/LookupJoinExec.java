package dev.jetsql.lookup;

import dev.jetsql.plans.BinaryExec;
import dev.jetsql.plans.Plans;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import scala.collection.immutable.Seq;

/** A lookup in Spark's plan. The side of the table is planned, but each task reads it by keys. */
public final class LookupJoinExec extends BinaryExec {
  private static final long serialVersionUID = 1L;

  private final LookupPlan lookup;

  /** Spark copies plans with the only public constructor. */
  public LookupJoinExec(SparkPlan left, SparkPlan right, LookupPlan lookup) {
    super(left, right, lookup);
    this.lookup = lookup;
  }

  /** Throws INVALID_OPTION_VALUE for a table in a query with an option that is wrong. */
  public static void checkOptions(LogicalPlan query) {
    for (var leaf : Plans.list(query.collectLeaves())) {
      if (leaf instanceof LogicalRelation table && table.relation() instanceof JDBCRelation jdbc)
        LookupOptions.of(jdbc.jdbcOptions());
    }
  }

  /** Returns the lookups of a plan in words; none for null. */
  public static List<String> describe(SparkPlan plan) {
    if (plan == null) return List.of();
    var below = Plans.list(plan.children()).stream().flatMap(child -> describe(child).stream());
    var own = plan instanceof LookupJoinExec join ? join.lookup.meaning() : null;
    return Stream.concat(Stream.ofNullable(own), below).toList();
  }

  @Override
  public Seq<Attribute> output() {
    return lookup.joined();
  }

  @Override
  public Partitioning outputPartitioning() {
    return left().outputPartitioning();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    var task = new LookupTask(lookup, TableRows.of(right()));
    return left().execute().toJavaRDD().mapPartitions(task, true).rdd();
  }

  @Override
  public String nodeName() {
    return "LookupJoin";
  }

  @Override
  public String simpleString(int maxFields) {
    return "LookupJoin " + lookup.meaning();
  }

  @Override
  public SparkPlan withNewChildrenInternal(SparkPlan newLeft, SparkPlan newRight) {
    return new LookupJoinExec(newLeft, newRight, lookup);
  }
}
