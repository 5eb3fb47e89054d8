package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Secrets;
import java.util.Locale;
import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * The errors of options. Each method throws its error; the declared return type lets a caller write
 * `throw`, so that the compiler knows that the method ends there. The origin is null if the
 * statement has no position for the error.
 */
final class KafkaOptionErrors {
  private KafkaOptionErrors() {}

  static RuntimeException fixed(Origin origin, String name) {
    String reason = KafkaOption.of(name).refusal();
    return notChangeable(origin, "Cannot set '" + name + "' for a Kafka table: " + reason + ".");
  }

  static RuntimeException notChangeable(Origin origin, String message) {
    return failure(origin, "OPTION_NOT_CHANGEABLE", "42616", message);
  }

  static RuntimeException duplicate(Origin origin, String name) {
    return failure(
        origin, "DUPLICATE_OPTION", "42614", "The option '" + name + "' is given twice.");
  }

  static RuntimeException unknown(Origin origin, String name) {
    String key = name.toLowerCase(Locale.ROOT);
    String nearest = KafkaOptionNames.nearest(key, 3);
    if (nearest == null && KafkaOptionNames.isListed("kafka." + key)) nearest = "kafka." + key;
    String hint =
        nearest != null
            ? " Did you mean '" + nearest + "'?"
            : " Options of Kafka's clients begin with 'kafka.', options of a format with its name"
                + " ('json.timestampFormat').";
    return failure(
        origin, "UNKNOWN_OPTION", "42616", "Kafka tables have no option '" + name + "'." + hint);
  }

  /**
   * Throws the error of an invalid value.
   *
   * @param expected the end of the sentence that begins with "It must be"
   */
  static RuntimeException badValue(Origin origin, String name, String value, String expected) {
    String shownValue = Secrets.isName(name) ? "***" : value;
    return invalid(origin, "'" + name + "' is '" + shownValue + "'. It must be " + expected + ".");
  }

  static RuntimeException invalid(Origin origin, String message) {
    return failure(origin, "INVALID_OPTION_VALUE", "22023", message);
  }

  private static RuntimeException failure(
      Origin origin, String condition, String state, String message) {
    return Exceptions.raise(
        origin == null
            ? JetSqlException.of(condition, state, message)
            : JetSqlException.at(origin, condition, state, message));
  }
}
