package dev.jetsql.kafka;

import dev.jetsql.common.SimilarNames;
import dev.jetsql.kafka.registry.RegistryOptions;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.avro.AvroOptions$;
import org.apache.spark.sql.catalyst.DataSourceOptions;
import org.apache.spark.sql.catalyst.csv.CSVOptions$;
import org.apache.spark.sql.catalyst.json.JSONOptions$;
import scala.jdk.javaapi.CollectionConverters;

/** The names of the options of Kafka tables. */
final class KafkaOptionNames {
  private static final String CLIENT_PREFIX = "kafka.";

  private static final List<String> ALL = withFormats();

  private KafkaOptionNames() {}

  /**
   * Returns whether a name in lower case is listed, or is another option of Kafka's clients and not
   * similar to a listed one.
   */
  static boolean isKnown(String key) {
    boolean ofClient = key.startsWith(CLIENT_PREFIX) && key.length() > CLIENT_PREFIX.length();
    return (ofClient && nearest(key, 2) == null) || RegistryOptions.isHeader(key) || isListed(key);
  }

  /** Returns the names with the options of Spark's functions for each format. */
  private static List<String> withFormats() {
    List<String> names = new ArrayList<>();
    for (KafkaOption option : KafkaOption.ALL) if (!option.isRefused()) names.add(option.name());
    addAll(names, "json.", JSONOptions$.MODULE$);
    addAll(names, "csv.", CSVOptions$.MODULE$);
    addAll(names, "avro.", AvroOptions$.MODULE$);
    return names;
  }

  private static void addAll(List<String> names, String prefix, DataSourceOptions format) {
    for (String name : CollectionConverters.asJava(format.getAllOptions()))
      names.add(prefix + name);
  }

  /** Returns whether a name is in the list, in any case. */
  static boolean isListed(String key) {
    return SimilarNames.contains(ALL, key);
  }

  /**
   * Returns the most similar listed name, or null if no name is within the maximum edit distance or
   * the name itself is listed.
   */
  static String nearest(String key, int maxDistance) {
    return SimilarNames.nearest(ALL, key, maxDistance);
  }
}
