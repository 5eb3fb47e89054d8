package dev.jetsql.kafka;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.ExposesMetadataColumns;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * A Kafka table that a query reads, until its names are resolved: its columns, and Kafka's own fields beside them, which
 * `SELECT *` leaves out (`_topic`, `_partition`, `_offset`, `_timestamp`, `_key`). Then it becomes the connector's source
 * and the expressions over it; that it is a leaf until then is what lets the fields be hidden.
 */
public class KafkaRead extends LogicalPlan implements LeafNode, MultiInstanceRelation, ExposesMetadataColumns {
  private final KafkaTable kafka;
  private final boolean streaming;
  private final Seq output;
  private final Seq hidden;
  private final boolean whole;

  public KafkaRead(KafkaTable kafka, boolean streaming) {
    this(kafka, streaming, attributes(kafka.columns(streaming), false), attributes(kafka.hidden(), true), false);
  }

  private KafkaRead(KafkaTable kafka, boolean streaming, Seq output, Seq hidden, boolean whole) {
    this.kafka = kafka;
    this.streaming = streaming;
    this.output = output;
    this.hidden = hidden;
    this.whole = whole;
  }

  private static Seq attributes(StructType columns, boolean hidden) {
    List found = new ArrayList();
    for (int i = 0; i < columns.length(); i++) {
      StructField column = columns.apply(i);
      Metadata metadata = column.metadata();
      if (hidden) {
        String mark = org.apache.spark.sql.catalyst.util.package$.MODULE$.METADATA_COL_ATTR_KEY();
        metadata = new MetadataBuilder().withMetadata(metadata).putString(mark, column.name()).build();
      }
      found.add(new AttributeReference(column.name(), column.dataType(), true, metadata,
          NamedExpression$.MODULE$.newExprId(), (Seq) Nil$.MODULE$));
    }
    return CollectionConverters.asScala(found).toSeq();
  }

  public Seq output() { return whole ? (Seq) output.$plus$plus(hidden) : output; }
  public Seq metadataOutput() { return hidden; }
  public boolean isStreaming() { return streaming; }
  public LogicalPlan withMetadataColumns() { return new KafkaRead(kafka, streaming, output, hidden, true); }

  public LogicalPlan newInstance() { return new KafkaRead(kafka, streaming, renewed(output), renewed(hidden), whole); }

  private static Seq renewed(Seq attributes) {
    List found = new ArrayList();
    scala.collection.Iterator each = attributes.iterator();
    while (each.hasNext()) found.add(((AttributeReference) each.next()).newInstance());
    return CollectionConverters.asScala(found).toSeq();
  }

  public Seq children() { return (Seq) Nil$.MODULE$; }
  public LogicalPlan mapChildren(scala.Function1<LogicalPlan, LogicalPlan> f) { return this; }
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) { return this; }
  public int productArity() { return 1; }
  public Object productElement(int n) { return kafka.name(); }
  public String simpleString(int maxFields) { return "Kafka " + kafka.name(); }
  public boolean canEqual(Object other) { return other instanceof KafkaRead; }
  public boolean equals(Object other) { return this == other; }
  public int hashCode() { return System.identityHashCode(this); }

  /** The plan of the connector's source with the table's columns under the identities that the query knows them by. */
  LogicalPlan withSource() {
    LogicalPlan rows = (LogicalPlan) plan(kafka.decoded(streaming)).transformUp(new OfTable(kafka));
    List columns = new ArrayList();
    scala.collection.Iterator each = output().iterator();
    while (each.hasNext()) {
      AttributeReference wanted = (AttributeReference) each.next();
      Expression found = attribute(rows, wanted.name());
      columns.add(new Alias(found, wanted.name(), wanted.exprId(), (Seq) Nil$.MODULE$, Option.apply(wanted.metadata()),
          (Seq) Nil$.MODULE$));
    }
    return new Project(CollectionConverters.asScala(columns).toSeq(), rows);
  }

  /** Tells the relation of a batch read whose it is: statements about a table look for that in its plan. */
  static class OfTable extends AbstractPartialFunction {
    private final KafkaTable kafka;

    OfTable(KafkaTable kafka) { this.kafka = kafka; }

    public boolean isDefinedAt(Object node) { return node instanceof LogicalRelation; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) return otherwise.apply(node);
      LogicalRelation read = (LogicalRelation) node;
      return read.copy(KafkaAsked.relation(kafka, read.relation()), read.output(), Option.apply(kafka.table),
          read.isStreaming(), read.stream());
    }
  }

  private static LogicalPlan plan(Dataset rows) {
    return ((org.apache.spark.sql.classic.Dataset) rows).queryExecution().analyzed();
  }

  private static Expression attribute(LogicalPlan rows, String name) {
    scala.collection.Iterator each = rows.output().iterator();
    while (each.hasNext()) {
      AttributeReference found = (AttributeReference) ((org.apache.spark.sql.catalyst.expressions.Attribute) each.next());
      if (found.name().equals(name)) return found;
    }
    throw new IllegalStateException(name);
  }

  /** Gives each Kafka table of a query its source, once all names are resolved. */
  public static class Sources extends AbstractFunction1 {
    public Object apply(Object session) { return new SourcesRule((org.apache.spark.sql.classic.SparkSession) session); }
  }

  public static class SourcesRule extends Rule {
    private final org.apache.spark.sql.classic.SparkSession session;

    public SourcesRule(org.apache.spark.sql.classic.SparkSession session) { this.session = session; }

    public TreeNode apply(TreeNode plan) { return ((LogicalPlan) plan).resolveOperators(new OnRead(session)); }
  }

  static class OnRead extends AbstractPartialFunction {
    private final org.apache.spark.sql.classic.SparkSession session;

    OnRead(org.apache.spark.sql.classic.SparkSession session) { this.session = session; }

    public boolean isDefinedAt(Object node) {
      return node instanceof KafkaRead || node instanceof InsertIntoDataSourceCommand;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (node instanceof KafkaRead) return ((KafkaRead) node).withSource();
      if (!(node instanceof InsertIntoDataSourceCommand)) return otherwise.apply(node);
      InsertIntoDataSourceCommand insert = (InsertIntoDataSourceCommand) node; // its query is none of its children
      LogicalPlan query = insert.query().resolveOperators(this);
      // Spark looks into the queries of such commands no more: a name that is not known would fail without a word of it.
      if (!query.resolved()) session.sessionState().analyzer().checkAnalysis(query);
      return query == insert.query() ? insert : insert.copy(insert.logicalRelation(), query, insert.overwrite());
    }
  }
}
