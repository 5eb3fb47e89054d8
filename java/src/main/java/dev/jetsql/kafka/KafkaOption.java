package dev.jetsql.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * An option of Kafka tables, of `grammar/kafka_options.json`. Completion, hover and the
 * documentation read the same file.
 *
 * @param kind the kind of its values, see `KafkaOptionValues`; `refused` for an option that no
 *     table can have
 * @param choices its values, which are the only ones if the kind is `choice`
 * @param isOfTable whether it defines the table. Jobs, dead letters and requests to the broker use
 *     the table's options, not those of a query.
 * @param refusal the reason why no table can have it, if it is refused
 */
record KafkaOption(
    String name, String kind, List<String> choices, boolean isOfTable, String refusal) {
  private static final String REFUSED = "refused";
  private static final String OWN = "JetSQL and Spark set it themselves";

  /** All options in the order of the file. */
  static final List<KafkaOption> ALL = read();

  private static final Map<String, KafkaOption> BY_NAME =
      ALL.stream().collect(Collectors.toMap(option -> lower(option.name), option -> option));

  /** Returns the option of a name in any case; null if it is not in the file. */
  static KafkaOption of(String name) {
    return BY_NAME.get(lower(name));
  }

  /** Returns whether no table can have an option. */
  static boolean isRefused(String name) {
    var option = of(name);
    return option != null && option.isRefused();
  }

  boolean isRefused() {
    return kind.equals(REFUSED);
  }

  private static List<KafkaOption> read() {
    List<KafkaOption> options = new ArrayList<>();
    try (var file = KafkaOption.class.getResourceAsStream("/kafka_options.json")) {
      for (JsonNode row : Json.MAPPER.readTree(file)) {
        var kind = row.get("kind").asText();
        for (String name : texts(row.get("names")))
          options.add(
              new KafkaOption(
                  name,
                  kind,
                  texts(row.path("choices")),
                  row.path("table").asBoolean(),
                  row.path("refusal").asText(OWN)));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return List.copyOf(options);
  }

  private static List<String> texts(JsonNode values) {
    List<String> texts = new ArrayList<>();
    values.forEach(value -> texts.add(value.asText()));
    return List.copyOf(texts);
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
