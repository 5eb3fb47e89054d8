package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Outages;
import dev.jetsql.common.Secrets;
import dev.jetsql.connections.NamedSecrets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Creates the options of the connector's reader and writer from those of a table, with JetSQL's
 * defaults and with secrets in place of their references.
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
  // After each fetch Spark requests the end offsets of the topic. The client has already sent its
  // next fetch, which waits for new records, by default for 500 ms, and delays that request.
  private static final String FETCH_WAIT = "kafka.fetch.max.wait.ms";
  private static final Map<String, String> SHORT_WAIT =
      Map.of(FETCH_WAIT, "5", "jetsql.short.wait", "true");
  // No interrupt ends a consumer's wait for its broker, which is two minutes long in Spark. The
  // driver, which occupies no task slot, retries for as long as with the defaults.
  private static final List<String> TASK_WAITS =
      List.of(
          "kafkaConsumer.pollTimeoutMs",
          "kafka.request.timeout.ms",
          "kafka.default.api.timeout.ms");
  private static final String DRIVER_RETRIES = "fetchOffset.numRetries";
  private static final long DRIVER_WAIT_MILLIS = 180_000;
  // Kafka's defaults send messages one by one and uncompressed, which is slow for streams of small
  // records.
  private static final Map<String, String> WRITER =
      Map.of(
          "kafka.linger.ms", "20",
          "kafka.batch.size", "262144",
          "kafka.compression.type", "lz4");
  // In real-time mode the linger time would be most of a message's latency.
  private static final Map<String, String> REAL_TIME_WRITER = Map.of("kafka.linger.ms", "0");

  private static final List<String> STREAMS_ONLY =
      List.of("maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay");
  private static final List<String> BATCHES_ONLY =
      List.of("endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp");

  private static final Set<String> JETSQL_OPTIONS =
      Set.of("topic", "path", "serialization.format", "watermark", "on.error");
  private static final List<String> JETSQL_PREFIXES =
      List.of("key.", "value.", "json.", "csv.", "avro.", "protobuf.", "delivery.");

  /**
   * The setting of a job that overrides its tables' option `failOnDataLoss`. While a batch is
   * planned, the statement of the job cannot be changed.
   */
  private static final String DATA_LOSS = "spark.jetsql.kafka.failOnDataLoss";

  private ConnectorOptions() {}

  /** Returns the options of a reader, with secrets in place of their references. */
  static Map<String, String> ofReader(KafkaTable table, boolean streaming) {
    Map<String, String> options = ofConnector(table);
    String starting = table.option("startingOffsets");
    if (!streaming && "latest".equalsIgnoreCase(starting))
      OptionMaps.remove(options, "startingOffsets");
    for (String excluded : streaming ? BATCHES_ONLY : STREAMS_ONLY)
      OptionMaps.remove(options, excluded);
    var dataLoss = table.session().conf().getOption(DATA_LOSS);
    if (streaming && dataLoss.isDefined()) {
      OptionMaps.remove(options, "failOnDataLoss");
      options.put("failOnDataLoss", dataLoss.get());
    }
    OptionMaps.putMissing(options, READER);
    if (OptionMaps.find(options, FETCH_WAIT) == null) OptionMaps.putMissing(options, SHORT_WAIT);
    limitWaits(options, Outages.timeoutMillis(table.session().sessionState().conf()));
    if (table.topic() != null) options.put("subscribe", table.topic());
    return options;
  }

  /** Adds the time that a task waits for its broker, unless an option sets one of the times. */
  private static void limitWaits(Map<String, String> options, long millis) {
    if (TASK_WAITS.stream().anyMatch(name -> OptionMaps.find(options, name) != null)) return;
    for (String name : TASK_WAITS) options.put(name, String.valueOf(millis));
    long retries = Math.max(1, DRIVER_WAIT_MILLIS / Math.max(1, millis));
    OptionMaps.putMissing(options, Map.of(DRIVER_RETRIES, String.valueOf(retries)));
  }

  /**
   * Returns the options of a writer, with secrets in place of their references. Requests the
   * topic's size limit from the broker.
   *
   * @param inBatches false in real-time mode, where a message is sent immediately
   */
  static Map<String, String> ofWriter(KafkaTable table, boolean inBatches) {
    Map<String, String> options = ofConnector(table);
    OptionMaps.putMissing(options, inBatches ? WRITER : REAL_TIME_WRITER);
    if (table.topic() != null) {
      options.put("topic", table.topic());
      BatchSizeLimit.apply(options, table.topic());
    }
    return options;
  }

  private static Map<String, String> ofConnector(KafkaTable table) {
    Map<String, String> options = new HashMap<>();
    table
        .options()
        .forEach(
            (name, value) -> {
              if (!isJetSqlOption(name)) options.put(name, reveal(name, value, table.options()));
            });
    return options;
  }

  /** Returns whether an option is JetSQL's and not the connector's. */
  static boolean isJetSqlOption(String name) {
    String key = name.toLowerCase(Locale.ROOT);
    return JETSQL_OPTIONS.contains(key) || JETSQL_PREFIXES.stream().anyMatch(key::startsWith);
  }

  /**
   * Returns the value of an option, or the secret that it refers to. Only client options can refer
   * to secrets.
   */
  private static String reveal(String name, String value, Map<String, String> options) {
    boolean ofClient = name.toLowerCase(Locale.ROOT).startsWith(CLIENT_PREFIX);
    if (value == null || !Secrets.isReference(value) || !ofClient) return value;
    String secret = NamedSecrets.reveal(name, value, options);
    String type = KafkaClientOptions.refusedType(name.substring(CLIENT_PREFIX.length()), secret);
    if (type == null) return secret;
    throw Exceptions.raise(
        JetSqlException.of(
            "INVALID_OPTION_VALUE",
            "22023",
            "The secret '"
                + value
                + "' is not a valid value of the option '"
                + name
                + "': Kafka's clients expect the type "
                + type
                + "."));
  }
}
