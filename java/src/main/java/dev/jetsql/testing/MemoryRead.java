package dev.jetsql.testing;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.LeafPlan;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.Option;
import scala.collection.immutable.Seq;

/** A read of a table in memory. Each batch that is planned reads the rows of its time. */
public final class MemoryRead extends LeafPlan implements MultiInstanceRelation {
  private final MemoryRows rows;
  private final Seq<Attribute> output;

  /** Creates the read. The constructor is public because Spark copies plans by reflection. */
  public MemoryRead(MemoryRows rows, Seq<Attribute> output) {
    this.rows = rows;
    this.output = output;
  }

  /** Returns the rows that the table has now. */
  LocalRelation relation() {
    return new LocalRelation(output, Sequences.of(rows.now(output)), false, Option.empty());
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public LogicalPlan newInstance() {
    return new MemoryRead(rows, newInstances(output));
  }

  @Override
  public Statistics computeStats() {
    return relation().computeStats();
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? rows : output;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof MemoryRead read
        && read.rows.table() == rows.table()
        && read.output.equals(output);
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(rows.table());
  }

  /** Plans reads of tables in memory. */
  static final class Strategy extends SparkStrategy {
    private final SparkSession session;

    Strategy(SparkSession session) {
      this.session = session;
    }

    @Override
    public Seq<SparkPlan> apply(LogicalPlan plan) {
      if (!(plan instanceof MemoryRead read)) return Sequences.of();
      return Sequences.of(session.sessionState().planner().plan(read.relation()).next());
    }
  }
}
