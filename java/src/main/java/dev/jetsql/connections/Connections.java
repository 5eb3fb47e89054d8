package dev.jetsql.connections;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.SecretAudit;
import dev.jetsql.common.Secrets;
import dev.jetsql.common.SimilarNames;
import dev.jetsql.rights.EnginePlaces;
import dev.jetsql.rights.Location;
import dev.jetsql.rights.Rights;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The connections of the engine, as Python has published them, and the one place where their
 * options become options of a table.
 *
 * <p>The catalog stores only the name of the connection. The options of a connection have
 * references to secrets, so that no plan, cache or message of Spark has more than a reference.
 */
public final class Connections {
  /** The option of a table that names its connection. */
  public static final String OPTION = "connection";

  private static final String OF_REGISTRY = ".schema.registry." + OPTION;
  private static final State NONE = new State(Map.of(), Map.of());
  private static volatile State current = NONE;

  private Connections() {}

  /**
   * A connection.
   *
   * @param type `kafka`, `jdbc`, `s3` or `registry`
   * @param changed when it, or one of its secrets, was changed
   */
  public record Connection(String name, String type, Map<String, String> options, String changed) {}

  /** All connections, and the secrets that their options name. */
  public record State(
      Map<String, NamedSecrets.Secret> secrets, Map<String, Connection> connections) {
    /** Reads the state from the JSON of Python's `StoredConnections.published`. */
    public static State of(String json) {
      var node = Json.read(json);
      var connections = new HashMap<String, Connection>();
      node.path("connections")
          .properties()
          .forEach(
              each -> connections.put(each.getKey(), connection(each.getKey(), each.getValue())));
      return new State(NamedSecrets.read(node.path("secrets")), connections);
    }

    private static Connection connection(String name, JsonNode node) {
      var options = new LinkedHashMap<String, String>();
      node.path("options")
          .properties()
          .forEach(each -> options.put(each.getKey(), each.getValue().asText()));
      return new Connection(
          name, node.path("type").asText(), options, node.path("changed").asText());
    }
  }

  /**
   * Replaces the connections and secrets. Statements that are being analyzed keep what they read.
   */
  public static void publish(String json) {
    var published = State.of(json);
    NamedSecrets.publish(published.secrets());
    EnginePlaces.publishSecrets(NamedSecrets.files(published.secrets()));
    current = published;
    S3Buckets.publish(published);
  }

  /** Returns whether a connection of a bucket, on which a user has USAGE, has a location. */
  static boolean has(Rights rights, String user, Location location) {
    for (var connection : current.connections().values()) {
      var own = S3Buckets.location(connection);
      if (own != null && own.covers(location) && rights.allowsConnection(user, connection.name()))
        return true;
    }
    return false;
  }

  /** Returns the location of a connection of a bucket; null for another connection, or for none. */
  public static Location location(String name) {
    var connection = current.connections().get(lower(name));
    return connection == null ? null : S3Buckets.location(connection);
  }

  /** Returns whether the options of a table name a connection. */
  public static boolean isUsed(Map<String, String> options) {
    return options.keySet().stream().anyMatch(Connections::isName);
  }

  /** Returns whether an option names a connection: of the table, or of its schema registry. */
  public static boolean isName(String option) {
    var key = lower(option);
    return key.equals(OPTION) || key.endsWith(OF_REGISTRY);
  }

  /**
   * Returns what changes with the connections of a table, so that a cached table with another value
   * is out of date; an empty text without connections.
   */
  public static String version(Map<String, String> options) {
    var state = current;
    return options.entrySet().stream()
        .filter(option -> isName(option.getKey()))
        .map(option -> state.connections().get(lower(option.getValue())))
        .map(each -> each == null ? "" : each.name() + " " + each.changed())
        .collect(Collectors.joining(", "));
  }

  /**
   * Returns the options of a table together with those of its connections, instead of their names.
   * Throws the error of a connection that does not exist, of another type, or that has an option of
   * the table.
   *
   * @param format of the table, in lower case
   */
  public static Map<String, String> merged(String format, Map<String, String> options) {
    if (!isUsed(options) || !Secrets.areRead()) return options;
    var state = current;
    var merged = new HashMap<String, String>();
    options.forEach(
        (name, value) -> {
          if (!isName(name)) merged.put(name, value);
        });
    for (var option : options.entrySet()) {
      if (!isName(option.getKey())) continue;
      var prefix = lower(option.getKey()).substring(0, option.getKey().length() - OPTION.length());
      var type = prefix.isEmpty() ? format : "registry";
      var connection = find(state, option.getKey(), option.getValue(), type);
      SecretAudit.noteConnection(connection.name());
      for (var name : options.keySet()) ConnectionOptions.check(connection, prefix, name);
      connection.options().forEach((name, value) -> merged.put(prefix + name, value));
    }
    for (var option : options.entrySet())
      if (Secrets.isReference(option.getValue()))
        throw refusal(
            "INVALID_OPTION_VALUE",
            "22023",
            "The option '"
                + option.getKey()
                + "' cannot name a secret in a table with a connection. Write it into the"
                + " connection.");
    return merged;
  }

  private static Connection find(State state, String option, String name, String type) {
    var connection = state.connections().get(lower(name));
    if (connection == null) throw missing(name);
    if (connection.type().equals(type)) return connection;
    throw refusal(
        "INVALID_OPTION_VALUE",
        "22023",
        "The option '"
            + option
            + "' needs a connection of TYPE "
            + type
            + ", but "
            + name
            + " is one of TYPE "
            + connection.type()
            + ".");
  }

  /** Returns the error for a connection that does not exist, or on which the user has no right. */
  public static RuntimeException missing(String name) {
    return refusal(
        "OBJECT_NOT_FOUND",
        "42704",
        "There is no connection named " + name + ". SHOW CONNECTIONS lists them.");
  }

  /** Returns the names of the connections that the options of a table name. */
  public static List<String> names(Map<String, String> options) {
    return options.entrySet().stream()
        .filter(option -> isName(option.getKey()))
        .map(Map.Entry::getValue)
        .toList();
  }

  static RuntimeException refusal(String condition, String state, String message) {
    return Exceptions.raise(JetSqlException.of(condition, state, message));
  }

  static boolean contains(Iterable<String> names, String name) {
    for (var each : names) if (each.equalsIgnoreCase(name)) return true;
    return false;
  }

  static String suggestion(List<String> names, String name) {
    var nearest = SimilarNames.nearest(names, name);
    return nearest == null ? "" : " Did you mean '" + nearest + "'?";
  }

  static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
