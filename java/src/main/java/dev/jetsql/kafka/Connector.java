package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.File;
import java.net.URI;
import org.apache.spark.SparkContext;
import org.apache.spark.util.DependencyUtils$;
import org.apache.spark.util.MutableURLClassLoader;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Spark's connector for Kafka, and its module for Avro, which are no parts of Spark: fetched from Maven by Spark's own means when an engine needs it
 * first, and put where `spark.jars` would have put it, so that no engine has to be started anew.
 *
 * The versions stand here and nowhere else. Those of Spark 4.3 are not on Maven Central, nor is the token provider that
 * the connector of 4.2 names; what Spark brings itself is left out.
 */
public class Connector {
  static final String NAME = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0";
  private static final String TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13";
  private static final String IN_SPARK = "org.scala-lang.modules:scala-parallel-collections_2.13,"
      + "com.google.code.findbugs:jsr305,at.yawk.lz4:lz4-java,org.lz4:lz4-java,org.xerial.snappy:snappy-java,"
      + "com.github.luben:zstd-jni,org.slf4j:slf4j-api";
  private static final String PROVIDER = "org.apache.spark.sql.kafka010.KafkaSourceProvider";
  private static final String AVRO = "org.apache.spark:spark-avro_2.13:4.1.1";
  private static final String AVRO_CLASS = "org.apache.spark.sql.avro.AvroDataToCatalyst";

  /** Throws a Failure EXTERNAL_SYSTEM_UNAVAILABLE that says how to bring the jars where Maven can't be reached. */
  public static synchronized void load(SparkContext spark) {
    if (isLoaded()) return;
    try {
      fetch(spark, "ivy://" + NAME + "?transitive=true&exclude=" + TOKENS + "," + IN_SPARK);
      fetch(spark, "ivy://" + TOKENS + ":4.0.0?transitive=false");
    } catch (Exception e) {
      throw missing("Kafka connector", NAME, e.getMessage());
    }
    if (!isLoaded()) throw missing("Kafka connector", NAME, "it is not among the classes that were fetched.");
  }

  /** As `load`, for messages in Avro. */
  static synchronized void loadAvro(SparkContext spark) {
    if (has(AVRO_CLASS)) return;
    try {
      fetch(spark, "ivy://" + AVRO + "?transitive=false");
    } catch (Exception e) {
      throw missing("module for Avro", AVRO, e.getMessage());
    }
    if (!has(AVRO_CLASS)) throw missing("module for Avro", AVRO, "it is not among the classes that were fetched.");
  }

  static boolean isLoaded() { return has(PROVIDER); }

  private static boolean has(String name) {
    try {
      Class.forName(name, false, Connector.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static void fetch(SparkContext spark, String packages) throws Exception {
    Seq jars = DependencyUtils$.MODULE$.resolveMavenDependencies(new URI(packages));
    MutableURLClassLoader loader = loader();
    Iterator each = jars.iterator();
    while (each.hasNext()) {
      String jar = (String) each.next();
      spark.addJar(jar); // for the executors
      loader.addURL(new File(jar).toURI().toURL());
    }
  }

  /** The one that `spark.jars` are in: the parent of all that sessions and threads have. */
  private static MutableURLClassLoader loader() {
    MutableURLClassLoader found = null;
    for (ClassLoader each = Connector.class.getClassLoader(); each != null; each = each.getParent()) {
      if (each instanceof MutableURLClassLoader) found = (MutableURLClassLoader) each;
    }
    if (found == null) throw new IllegalStateException("This Spark was not started in a way that lets classes be added.");
    return found;
  }

  private static RuntimeException missing(String what, String name, String why) {
    return Exceptions.raise(JetSqlException.of("EXTERNAL_SYSTEM_UNAVAILABLE", "08001",
        "Spark's " + what + " can't be fetched: " + why + " Let the engine reach Maven Central, name a mirror with"
        + " --conf spark.jars.repositories=URL, or start it with the jars of " + name + " in --conf spark.jars=..."));
  }
}
