package dev.jetsql.kafka;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.commons.text.similarity.LevenshteinDistance;
import org.apache.spark.sql.avro.AvroOptions$;
import org.apache.spark.sql.catalyst.DataSourceOptions;
import org.apache.spark.sql.catalyst.csv.CSVOptions$;
import org.apache.spark.sql.catalyst.json.JSONOptions$;
import scala.collection.Iterator;

/** What the options of Kafka tables are called. */
class KafkaOptionNames {
  // Those of JetSQL, then the connector's; of Kafka's clients are all that begin with `kafka.`.
  private static final String[] NAMES = {"topic", "value.format", "key.format", "key.columns", "on.error", "watermark",
      "subscribe", "subscribePattern", "assign", "startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp",
      "startingOffsetsByTimestampStrategy", "endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp", "failOnDataLoss",
      "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "maxOffsetsPerTrigger",
      "minOffsetsPerTrigger", "maxTriggerDelay", "minPartitions", "maxRecordsPerPartition", "groupIdPrefix",
      "includeHeaders", "kafka.bootstrap.servers", "kafka.group.id", "kafka.security.protocol", "kafka.sasl.mechanism",
      "kafka.sasl.jaas.config", "kafka.isolation.level", "kafka.acks", "kafka.linger.ms", "kafka.batch.size",
      "kafka.compression.type", "kafka.max.poll.records", "delivery.headers", "avro.schema", "avro.schema.id"};

  private static final String[] ALL = withFormats();

  static boolean known(String key) {
    return key.startsWith("kafka.") && key.length() > 6 && near(key, 2) == null || exact(key);
  }

  /** With the options of Spark's functions for each format. */
  private static String[] withFormats() {
    List names = new ArrayList(Arrays.asList((Object[]) NAMES));
    DataSourceOptions[] formats = {JSONOptions$.MODULE$, CSVOptions$.MODULE$, AvroOptions$.MODULE$};
    String[] prefixes = {"json.", "csv.", "avro."};
    for (int i = 0; i < formats.length; i++) {
      Iterator each = formats[i].getAllOptions().iterator();
      while (each.hasNext()) names.add(prefixes[i] + each.next());
    }
    return (String[]) names.toArray(new String[0]);
  }

  static boolean exact(String key) {
    for (int i = 0; i < ALL.length; i++) if (ALL[i].equalsIgnoreCase(key)) return true;
    return false;
  }

  /** Another name that is near, at most so many letters away. */
  static String near(String key, int most) {
    String found = null;
    for (int i = 0; i < ALL.length; i++) {
      String name = ALL[i].toLowerCase(Locale.ROOT);
      if (name.equals(key)) return null;
      int far = LevenshteinDistance.getDefaultInstance().apply(name, key).intValue();
      if (far <= most) {
        found = ALL[i];
        most = far - 1;
      }
    }
    return found;
  }
}
