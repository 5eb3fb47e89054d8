package dev.jetsql.testing;

import dev.jetsql.common.Json;
import dev.jetsql.common.Secrets;
import dev.jetsql.sql.JetSqlExtensions;
import java.util.HashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Sessions of unit tests: each has a catalog of its own in memory, so that tests run in parallel.
 */
public final class TestSessions {
  private TestSessions() {}

  /** Opens a session with a catalog of its own. confs: its settings, a JSON object of texts */
  public static SparkSession open(SparkContext spark, String confs) {
    Secrets.keepReferences();
    var extensions = new SparkSessionExtensions();
    new JetSqlExtensions().apply(extensions);
    extensions.injectPlannerStrategy(session -> new MemoryRead.Strategy((SparkSession) session));
    Coverage.inject(extensions);
    var options = new HashMap<String, String>();
    Json.readObject(confs)
        .properties()
        .forEach(each -> options.put(each.getKey(), each.getValue().asText()));
    var settings = Map$.MODULE$.from(CollectionConverters.asScala(options));
    return new SparkSession(
        spark, Option.empty(), Option.empty(), extensions, settings, Map$.MODULE$.empty());
  }

  /** Removes the listener that Spark registers for the statements of a session. */
  public static void close(SparkSession session) {
    var listener = session.sharedState().statusStore().listener();
    if (listener.isDefined()) session.sparkContext().removeSparkListener(listener.get());
  }
}
