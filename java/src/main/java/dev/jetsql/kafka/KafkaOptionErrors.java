package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Secrets;
import java.util.Locale;
import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * The errors of options. Each method raises its error; it is declared to return one so that the
 * compiler sees an end. A place is null where the statement has none.
 */
final class KafkaOptionErrors {
  private KafkaOptionErrors() {}

  static RuntimeException fixed(Origin place, String name) {
    return notChangeable(
        place,
        "'" + name + "' can't be set for a Kafka table: JetSQL and Spark set it themselves.");
  }

  static RuntimeException notChangeable(Origin place, String message) {
    return failure(place, "OPTION_NOT_CHANGEABLE", "42616", message);
  }

  static RuntimeException duplicate(Origin place, String name) {
    return failure(place, "DUPLICATE_OPTION", "42614", "The option '" + name + "' is given twice.");
  }

  static RuntimeException unknown(Origin place, String name) {
    String key = name.toLowerCase(Locale.ROOT);
    String close = KafkaOptionNames.nearest(key, 3);
    if (close == null && KafkaOptionNames.isListed("kafka." + key)) close = "kafka." + key;
    String hint =
        close != null
            ? " Did you mean '" + close + "'?"
            : " Options of Kafka's clients begin with 'kafka.', those of a format with its name"
                + " ('json.timestampFormat').";
    return failure(
        place, "UNKNOWN_OPTION", "42616", "Kafka tables have no option '" + name + "'." + hint);
  }

  /** Raise the error of a value. `expected` goes on after "It must be ". */
  static RuntimeException badValue(Origin place, String name, String value, String expected) {
    String shown = Secrets.isName(name) ? "***" : value;
    return invalid(place, "'" + name + "' is '" + shown + "'. It must be " + expected + ".");
  }

  static RuntimeException invalid(Origin place, String message) {
    return failure(place, "INVALID_OPTION_VALUE", "22023", message);
  }

  private static RuntimeException failure(
      Origin place, String condition, String state, String message) {
    return Exceptions.raise(
        place == null
            ? JetSqlException.of(condition, state, message)
            : JetSqlException.at(place, condition, state, message));
  }
}
