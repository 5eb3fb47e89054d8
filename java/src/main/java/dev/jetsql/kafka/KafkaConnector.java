package dev.jetsql.kafka;

import dev.jetsql.versions.ConnectorJars;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * Loads Spark's Kafka connector and Avro module, which are not part of Spark's distribution, when
 * the engine first needs them.
 */
public final class KafkaConnector {
  private static final String CONNECTOR_CLASS = "org.apache.spark.sql.kafka010.KafkaSourceProvider";
  private static final String AVRO_CLASS = "org.apache.spark.sql.avro.AvroDataToCatalyst";

  private KafkaConnector() {}

  /** Loads the connector if it is not loaded. Throws the errors of `ConnectorJars`. */
  public static void load(SparkContext spark) {
    load(spark, "kafka", "Spark's Kafka connector", CONNECTOR_CLASS);
  }

  /** Loads the connector into the session's Spark. */
  public static void load(SparkSession session) {
    load(session.sparkContext());
  }

  /** Loads the Avro module if it is not loaded. Throws the same errors as `load`. */
  static void loadAvro(SparkContext spark) {
    load(spark, "avro", "Spark's Avro module", AVRO_CLASS);
  }

  private static void load(SparkContext spark, String key, String module, String className) {
    if (ConnectorJars.has(className)) return;
    for (String jar : ConnectorJars.load(key, module, className)) {
      spark.addJar(jar); // for the executors
    }
  }
}
