package dev.jetsql.kafka;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.StructType;

/** The relation of a Kafka table as the target of an INSERT. */
final class KafkaInsertRelation extends BaseRelation implements InsertableRelation {
  private final KafkaTable kafka;

  KafkaInsertRelation(KafkaTable kafka) {
    this.kafka = kafka;
  }

  @Override
  public SQLContext sqlContext() {
    return kafka.session().sqlContext();
  }

  @Override
  public StructType schema() {
    return kafka.catalogTable().schema();
  }

  @Override
  public void insert(Dataset<Row> rows, boolean overwrite) {
    if (overwrite) throw KafkaTable.overwriteRefused(CurrentOrigin.get());
    kafka.insert(rows);
  }
}
