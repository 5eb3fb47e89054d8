package dev.jetsql.kafka;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.plans.LeafPlan;
import dev.jetsql.records.SourceColumns;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.ExposesMetadataColumns;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.package$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.PartialFunction;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A Kafka table in a query until all names are resolved: its columns, and Kafka's own fields as
 * metadata columns, which `SELECT *` leaves out (`_topic`, `_partition`, `_offset`, `_timestamp`,
 * `_key`). `ResolveKafkaReads` then replaces it by the connector's source and a projection. It is a
 * leaf because Spark supports metadata columns for leaves only.
 */
public final class KafkaRead extends LeafPlan
    implements MultiInstanceRelation, ExposesMetadataColumns {
  private final KafkaTable kafka;
  private final boolean streaming;
  private final Seq<Attribute> columns;
  private final Seq<Attribute> metadataColumns;
  private final boolean withMetadata;

  public KafkaRead(KafkaTable kafka, boolean streaming) {
    this(
        kafka,
        streaming,
        attributes(kafka.columns(streaming), false),
        attributes(kafka.metadataColumns(), true),
        false);
  }

  private KafkaRead(
      KafkaTable kafka,
      boolean streaming,
      Seq<Attribute> columns,
      Seq<Attribute> metadataColumns,
      boolean withMetadata) {
    this.kafka = kafka;
    this.streaming = streaming;
    this.columns = columns;
    this.metadataColumns = metadataColumns;
    this.withMetadata = withMetadata;
  }

  public KafkaTable table() {
    return kafka;
  }

  private static Seq<Attribute> attributes(StructType columns, boolean areMetadata) {
    List<Attribute> attributes = new ArrayList<>();
    for (StructField column : columns.fields()) {
      Metadata metadata = column.metadata();
      if (areMetadata) {
        String key = package$.MODULE$.METADATA_COL_ATTR_KEY();
        metadata =
            new MetadataBuilder().withMetadata(metadata).putString(key, column.name()).build();
      }
      attributes.add(
          new AttributeReference(
              column.name(),
              column.dataType(),
              true,
              metadata,
              NamedExpression$.MODULE$.newExprId(),
              seq(List.of())));
    }
    return seq(attributes);
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  @Override
  public Seq<Attribute> output() {
    if (!withMetadata) return columns;
    List<Attribute> all = new ArrayList<>(CollectionConverters.asJava(columns));
    all.addAll(CollectionConverters.asJava(metadataColumns));
    return seq(all);
  }

  @Override
  public Seq<Attribute> metadataOutput() {
    return metadataColumns;
  }

  @Override
  public boolean isStreaming() {
    return streaming;
  }

  @Override
  public LogicalPlan withMetadataColumns() {
    return new KafkaRead(kafka, streaming, columns, metadataColumns, true);
  }

  @Override
  public LogicalPlan newInstance() {
    return new KafkaRead(
        kafka, streaming, newInstances(columns), newInstances(metadataColumns), withMetadata);
  }

  /** Returns a copy, with the same columns. Spark's own needs all arguments of a constructor. */
  @Override
  public LogicalPlan clone() {
    return new KafkaRead(kafka, streaming, columns, metadataColumns, withMetadata);
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int n) {
    return kafka.name();
  }

  @Override
  public String simpleString(int maxFields) {
    return "Kafka " + kafka.name();
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }

  /**
   * Returns the plan of the connector's source. Its columns have the expression ids of this node's
   * output, which the query references.
   *
   * <p>The gates have checked the right on the table. They know no sources without a table.
   */
  LogicalPlan withSource() {
    var source =
        ApprovedPlans.call(
            () -> {
              var rows = (Dataset<Row>) new MessageDecoder(kafka).rows(streaming);
              return rows.queryExecution().analyzed();
            });
    var ofTable = source.transformUp(PartialFunction.fromFunction(this::withTable));
    return SourceColumns.project(ofTable, output());
  }

  /**
   * Adds the table to the relation of a batch read: statements about a table search plans for it.
   */
  private LogicalPlan withTable(LogicalPlan node) {
    if (!(node instanceof LogicalRelation read)) return node;
    return read.copy(
        KafkaTopicChecks.checked(kafka, read.relation()),
        read.output(),
        Option.apply(kafka.catalogTable()),
        read.isStreaming(),
        read.stream());
  }
}
