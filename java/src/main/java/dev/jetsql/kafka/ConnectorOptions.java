package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Secrets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Make the options of the connector's reader and writer from those of a table, with JetSQL's
 * defaults and secrets.
 */
final class ConnectorOptions {
  private static final String CLIENT_PREFIX = "kafka.";

  // Readers see committed transactions only, and fetch streams of small records in large pieces.
  private static final Map<String, String> READER =
      Map.of(
          "kafka.isolation.level", "read_committed",
          "kafka.max.poll.records", "10000",
          "kafka.max.partition.fetch.bytes", "8388608",
          "kafka.receive.buffer.bytes", "1048576",
          "startingOffsets", "earliest");
  // After each fetch Spark asks for the end of the topic. That request queues after the client's
  // next fetch, which
  // waits for new records, by default for 500 ms.
  private static final String FETCH_WAIT = "kafka.fetch.max.wait.ms";
  private static final Map<String, String> SHORT_WAIT =
      Map.of(FETCH_WAIT, "5", "jetsql.short.wait", "true");
  // Kafka's own defaults wait for no second message and do not compress, which is slow for streams
  // of small records.
  private static final Map<String, String> WRITER =
      Map.of(
          "kafka.linger.ms", "20",
          "kafka.batch.size", "262144",
          "kafka.compression.type", "lz4");
  // In real-time mode the wait for a second message would be most of a message's latency.
  private static final Map<String, String> REAL_TIME_WRITER = Map.of("kafka.linger.ms", "0");

  private static final List<String> ONLY_STREAMS =
      List.of("maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay");
  private static final List<String> ONLY_BATCHES =
      List.of("endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp");

  private static final Set<String> JETSQLS_OWN =
      Set.of("topic", "path", "serialization.format", "watermark", "on.error");
  private static final List<String> JETSQLS_PREFIXES =
      List.of("key.", "value.", "json.", "csv.", "avro.", "delivery.");

  /**
   * The setting of a job that overrides its tables' option: a planned batch forbids to change the
   * job's statement.
   */
  private static final String DATA_LOSS = "spark.jetsql.kafka.failOnDataLoss";

  private ConnectorOptions() {}

  /** Return the options of a reader, with the secrets that they name. */
  static Map<String, String> ofReader(KafkaTable table, boolean streaming) {
    Map<String, String> given = ofConnector(table);
    String starting = table.option("startingOffsets");
    if (!streaming && "latest".equalsIgnoreCase(starting))
      OptionMaps.remove(given, "startingOffsets");
    for (String other : streaming ? ONLY_BATCHES : ONLY_STREAMS) OptionMaps.remove(given, other);
    var dataLoss = table.session().conf().getOption(DATA_LOSS);
    if (streaming && dataLoss.isDefined()) {
      OptionMaps.remove(given, "failOnDataLoss");
      given.put("failOnDataLoss", dataLoss.get());
    }
    OptionMaps.putMissing(given, READER);
    if (OptionMaps.find(given, FETCH_WAIT) == null) OptionMaps.putMissing(given, SHORT_WAIT);
    if (table.topic() != null) given.put("subscribe", table.topic());
    return given;
  }

  /**
   * Return the options of a writer, with the secrets that they name. It asks the broker for the
   * topic's largest batch.
   *
   * @param inBatches whether a message may wait for others
   */
  static Map<String, String> ofWriter(KafkaTable table, boolean inBatches) {
    Map<String, String> given = ofConnector(table);
    OptionMaps.putMissing(given, inBatches ? WRITER : REAL_TIME_WRITER);
    if (table.topic() != null) {
      given.put("topic", table.topic());
      BatchSizeLimit.apply(given, table.topic());
    }
    return given;
  }

  private static Map<String, String> ofConnector(KafkaTable table) {
    Map<String, String> given = new HashMap<>();
    table
        .options()
        .forEach(
            (name, value) -> {
              if (!isJetSqls(name)) given.put(name, revealed(name, value));
            });
    return given;
  }

  /** Return whether an option is for JetSQL and unknown to the connector. */
  static boolean isJetSqls(String name) {
    String key = name.toLowerCase(Locale.ROOT);
    return JETSQLS_OWN.contains(key) || JETSQLS_PREFIXES.stream().anyMatch(key::startsWith);
  }

  /**
   * Return the value of an option, read from its secret if it names one. Only client options name
   * secrets.
   */
  private static String revealed(String name, String value) {
    boolean ofClient = name.toLowerCase(Locale.ROOT).startsWith(CLIENT_PREFIX);
    if (value == null || !Secrets.isReference(value) || !ofClient) return value;
    String secret = Secrets.reveal(value);
    String type = KafkaClientOptions.refusedType(name.substring(CLIENT_PREFIX.length()), secret);
    if (type == null) return secret;
    throw Exceptions.raise(
        JetSqlException.of(
            "INVALID_OPTION_VALUE",
            "22023",
            "'"
                + name
                + "' can't be what '"
                + value
                + "' holds: Kafka's clients take no such value there (type "
                + type
                + ")."));
  }
}
