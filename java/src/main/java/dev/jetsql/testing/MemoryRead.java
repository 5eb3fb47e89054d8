package dev.jetsql.testing;

import dev.jetsql.common.Sequences;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** A read of a table in memory. Each batch that is planned reads the rows of its time. */
public final class MemoryRead extends LogicalPlan implements LeafNode, MultiInstanceRelation {
  private final MemoryTable table;
  private final Seq<Attribute> output;

  /** Creates the read. The constructor is public because Spark copies plans by reflection. */
  public MemoryRead(MemoryTable table, Seq<Attribute> output) {
    this.table = table;
    this.output = output;
  }

  /** Returns the rows that the table has now. */
  LocalRelation relation() {
    return new LocalRelation(
        output, Sequences.of(table.withColumns(table.rows(), output)), false, Option.empty());
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public LogicalPlan newInstance() {
    return new MemoryRead(
        table,
        Sequences.of(
            List.copyOf(
                CollectionConverters.asJava(output).stream()
                    .map(Attribute::newInstance)
                    .toList())));
  }

  @Override
  public Statistics computeStats() {
    return relation().computeStats();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return LeafNode.super.children();
  }

  @Override
  public LogicalPlan mapChildren(Function1<LogicalPlan, LogicalPlan> f) {
    return this;
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return this;
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? table : output;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof MemoryRead;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof MemoryRead read && read.table == table && read.output.equals(output);
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(table);
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
