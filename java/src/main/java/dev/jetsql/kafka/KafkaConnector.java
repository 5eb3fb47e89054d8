package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.Properties;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.DependencyUtils$;
import org.apache.spark.util.MutableURLClassLoader;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Load Spark's connector for Kafka and its module for Avro, which Spark does not contain. Spark's
 * own code fetches them from Maven when an engine first needs them, and they are added where
 * `spark.jars` would have added them, so that the engine need not restart.
 *
 * <p>The versions are in `connector.properties` and nowhere else.
 */
public final class KafkaConnector {
  private static final String CONNECTOR_CLASS = "org.apache.spark.sql.kafka010.KafkaSourceProvider";
  private static final String AVRO_CLASS = "org.apache.spark.sql.avro.AvroDataToCatalyst";
  private static final Properties PACKAGES = packages();

  private KafkaConnector() {}

  /** Return the packages of `connector.properties`, from which the build takes them as well. */
  private static Properties packages() {
    var packages = new Properties();
    try (var file = KafkaConnector.class.getResourceAsStream("connector.properties")) {
      packages.load(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return packages;
  }

  /**
   * Load the connector if it is not loaded. Raises EXTERNAL_SYSTEM_UNAVAILABLE, which names the
   * ways to supply the jars if Maven cannot be reached.
   */
  public static synchronized void load(SparkContext spark) {
    if (has(CONNECTOR_CLASS)) return;
    try {
      fetch(spark, "connector");
      fetch(spark, "tokens");
    } catch (Exception e) {
      throw missing("Kafka connector", "connector", e.getMessage());
    }
    if (!has(CONNECTOR_CLASS)) {
      throw missing(
          "Kafka connector", "connector", "it is not among the classes that were fetched.");
    }
  }

  /** Load the connector into the session's Spark. */
  public static void load(SparkSession session) {
    load(session.sparkContext());
  }

  /** Load the module for messages in Avro if it is not loaded. Raises the same error as `load`. */
  static synchronized void loadAvro(SparkContext spark) {
    if (has(AVRO_CLASS)) return;
    try {
      fetch(spark, "avro");
    } catch (Exception e) {
      throw missing("module for Avro", "avro", e.getMessage());
    }
    if (!has(AVRO_CLASS))
      throw missing("module for Avro", "avro", "it is not among the classes that were fetched.");
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
    var jars =
        DependencyUtils$.MODULE$.resolveMavenDependencies(new URI(PACKAGES.getProperty(key)));
    MutableURLClassLoader loader = loader();
    for (String jar : CollectionConverters.asJava(jars)) {
      spark.addJar(jar); // for the executors
      loader.addURL(new File(jar).toURI().toURL());
    }
  }

  /**
   * Return the loader of `spark.jars`, which is a parent of the loaders of all sessions and
   * threads.
   */
  private static MutableURLClassLoader loader() {
    MutableURLClassLoader outermost = null;
    for (ClassLoader each = KafkaConnector.class.getClassLoader();
        each != null;
        each = each.getParent()) {
      if (each instanceof MutableURLClassLoader mutable) outermost = mutable;
    }
    if (outermost == null) {
      throw new IllegalStateException(
          "This Spark was not started in a way that lets classes be added.");
    }
    return outermost;
  }

  private static RuntimeException missing(String what, String key, String why) {
    var name = PACKAGES.getProperty(key).replaceAll("^ivy://|\\?.*", "");
    return Exceptions.raise(
        JetSqlException.of(
            "EXTERNAL_SYSTEM_UNAVAILABLE",
            "08001",
            "Spark's "
                + what
                + " can't be fetched: "
                + why
                + " Let the engine reach Maven Central, name a mirror with"
                + " --conf spark.jars.repositories=URL, or start it with the jars of "
                + name
                + " in --conf spark.jars=..."));
  }
}
