package dev.jetsql.plans;

import dev.jetsql.common.Sequences;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** A node of a logical plan without other plans below it: a read of a table. */
public abstract class LeafPlan extends LogicalPlan implements LeafNode {
  /** Returns columns with new expression ids, for another read in the same query. */
  protected static Seq<Attribute> newInstances(Seq<Attribute> attributes) {
    return Sequences.of(
        CollectionConverters.asJava(attributes).stream().map(Attribute::newInstance).toList());
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
  public boolean canEqual(Object other) {
    return other != null && other.getClass() == getClass();
  }
}
