package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.versions.Connectors;
import java.io.File;
import java.net.URI;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.DependencyUtils$;
import org.apache.spark.util.MutableURLClassLoader;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Loads Spark's Kafka connector and Avro module, which are not part of Spark's distribution.
 * Spark's resolver fetches them from Maven when the engine first needs them. The jars are added to
 * the class loader of `spark.jars`, so that the engine need not restart.
 */
public final class KafkaConnector {
  private static final String CONNECTOR_CLASS = "org.apache.spark.sql.kafka010.KafkaSourceProvider";
  private static final String AVRO_CLASS = "org.apache.spark.sql.avro.AvroDataToCatalyst";

  private KafkaConnector() {}

  /**
   * Loads the connector if it is not loaded. Throws EXTERNAL_SYSTEM_UNAVAILABLE if Maven cannot be
   * reached; the message lists the ways to supply the jars.
   */
  public static synchronized void load(SparkContext spark) {
    if (has(CONNECTOR_CLASS)) return;
    try {
      fetch(spark, "kafka");
    } catch (Exception e) {
      throw missing("Kafka connector", "kafka", e.getMessage());
    }
    if (!has(CONNECTOR_CLASS)) {
      throw missing("Kafka connector", "kafka", "the fetched jars do not contain it.");
    }
  }

  /** Loads the connector into the session's Spark. */
  public static void load(SparkSession session) {
    load(session.sparkContext());
  }

  /** Loads the Avro module if it is not loaded. Throws the same error as `load`. */
  static synchronized void loadAvro(SparkContext spark) {
    if (has(AVRO_CLASS)) return;
    try {
      fetch(spark, "avro");
    } catch (Exception e) {
      throw missing("Avro module", "avro", e.getMessage());
    }
    if (!has(AVRO_CLASS))
      throw missing("Avro module", "avro", "the fetched jars do not contain it.");
  }

  private static boolean has(String name) {
    try {
      Class.forName(name, false, KafkaConnector.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static void fetch(SparkContext spark, String key) throws Exception {
    MutableURLClassLoader loader = loader();
    for (URI uri : Connectors.packages(key)) {
      var jars = DependencyUtils$.MODULE$.resolveMavenDependencies(uri);
      for (String jar : CollectionConverters.asJava(jars)) {
        spark.addJar(jar); // for the executors
        loader.addURL(new File(jar).toURI().toURL());
      }
    }
  }

  /**
   * Returns the loader of `spark.jars`, which is a parent of the loaders of all sessions and
   * threads.
   */
  private static MutableURLClassLoader loader() {
    MutableURLClassLoader outermost = null;
    for (ClassLoader ancestor = KafkaConnector.class.getClassLoader();
        ancestor != null;
        ancestor = ancestor.getParent()) {
      if (ancestor instanceof MutableURLClassLoader mutable) outermost = mutable;
    }
    if (outermost == null) {
      throw new IllegalStateException(
          "Cannot add classes to this Spark: it has no class loader for spark.jars.");
    }
    return outermost;
  }

  private static RuntimeException missing(String module, String key, String reason) {
    var name = Connectors.mavenName(Connectors.packages(key).get(0));
    return Exceptions.raise(
        JetSqlException.of(
            "EXTERNAL_SYSTEM_UNAVAILABLE",
            "08001",
            "Cannot fetch Spark's "
                + module
                + ": "
                + reason
                + " Let the engine reach Maven Central, name a mirror with"
                + " --conf spark.jars.repositories=URL, or start it with the jars of "
                + name
                + " in --conf spark.jars=..."));
  }
}
