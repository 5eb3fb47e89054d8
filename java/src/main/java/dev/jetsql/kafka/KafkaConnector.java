package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.File;
import java.net.URI;
import org.apache.spark.SparkContext;
import org.apache.spark.util.DependencyUtils$;
import org.apache.spark.util.MutableURLClassLoader;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Load Spark's connector for Kafka and its module for Avro, which Spark does not contain. Spark's own code fetches them
 * from Maven when an engine first needs them, and they are added where `spark.jars` would have added them, so that the
 * engine need not restart.
 *
 * The versions are here and nowhere else. Maven Central has neither the versions of Spark 4.3 nor the token provider
 * that the connector 4.2 names. The dependencies that Spark contains are excluded.
 */
public final class KafkaConnector {
  private static final String CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0";
  private static final String TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13";
  private static final String IN_SPARK = "org.scala-lang.modules:scala-parallel-collections_2.13,"
      + "com.google.code.findbugs:jsr305,at.yawk.lz4:lz4-java,org.lz4:lz4-java,org.xerial.snappy:snappy-java,"
      + "com.github.luben:zstd-jni,org.slf4j:slf4j-api";
  private static final String CONNECTOR_CLASS = "org.apache.spark.sql.kafka010.KafkaSourceProvider";
  private static final String AVRO = "org.apache.spark:spark-avro_2.13:4.1.1";
  private static final String AVRO_CLASS = "org.apache.spark.sql.avro.AvroDataToCatalyst";

  private KafkaConnector() {}

  /**
   * Load the connector if it is not loaded. Raises EXTERNAL_SYSTEM_UNAVAILABLE, which names the ways to supply the jars
   * if Maven cannot be reached.
   */
  public static synchronized void load(SparkContext spark) {
    if (has(CONNECTOR_CLASS)) return;
    try {
      fetch(spark, "ivy://" + CONNECTOR + "?transitive=true&exclude=" + TOKENS + "," + IN_SPARK);
      fetch(spark, "ivy://" + TOKENS + ":4.0.0?transitive=false");
    } catch (Exception e) {
      throw missing("Kafka connector", CONNECTOR, e.getMessage());
    }
    if (!has(CONNECTOR_CLASS)) {
      throw missing("Kafka connector", CONNECTOR, "it is not among the classes that were fetched.");
    }
  }

  /** Load the module for messages in Avro if it is not loaded. Raises the same error as `load`. */
  static synchronized void loadAvro(SparkContext spark) {
    if (has(AVRO_CLASS)) return;
    try {
      fetch(spark, "ivy://" + AVRO + "?transitive=false");
    } catch (Exception e) {
      throw missing("module for Avro", AVRO, e.getMessage());
    }
    if (!has(AVRO_CLASS)) throw missing("module for Avro", AVRO, "it is not among the classes that were fetched.");
  }

  private static boolean has(String name) {
    try {
      Class.forName(name, false, KafkaConnector.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static void fetch(SparkContext spark, String packages) throws Exception {
    var jars = DependencyUtils$.MODULE$.resolveMavenDependencies(new URI(packages));
    MutableURLClassLoader loader = loader();
    for (String jar : CollectionConverters.asJava(jars)) {
      spark.addJar(jar); // for the executors
      loader.addURL(new File(jar).toURI().toURL());
    }
  }

  /** Return the loader of `spark.jars`, which is a parent of the loaders of all sessions and threads. */
  private static MutableURLClassLoader loader() {
    MutableURLClassLoader outermost = null;
    for (ClassLoader each = KafkaConnector.class.getClassLoader(); each != null; each = each.getParent()) {
      if (each instanceof MutableURLClassLoader mutable) outermost = mutable;
    }
    if (outermost == null) {
      throw new IllegalStateException("This Spark was not started in a way that lets classes be added.");
    }
    return outermost;
  }

  private static RuntimeException missing(String what, String name, String why) {
    return Exceptions.raise(JetSqlException.of("EXTERNAL_SYSTEM_UNAVAILABLE", "08001",
        "Spark's " + what + " can't be fetched: " + why + " Let the engine reach Maven Central, name a mirror with"
        + " --conf spark.jars.repositories=URL, or start it with the jars of " + name + " in --conf spark.jars=..."));
  }
}
