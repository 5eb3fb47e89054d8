package dev.jetsql.connections;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.SecretAudit;
import dev.jetsql.common.Secrets;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The secrets of CREATE SECRET, and the one way to read a secret for a connection: after the check
 * that it goes only to its hosts.
 */
public final class NamedSecrets {
  private static final String PREFIX = "secret:";
  private static final String FILE = PREFIX + "file:";

  private static volatile Map<String, Secret> current = Map.of();

  private NamedSecrets() {}

  /**
   * A secret.
   *
   * @param reference the file or the variable that has the value: `secret:file:PATH` or
   *     `secret:env:NAME`
   * @param hosts the URLs to which it may be sent; empty for any
   */
  record Secret(String reference, List<String> hosts) {}

  static Map<String, Secret> read(JsonNode published) {
    var secrets = new HashMap<String, Secret>();
    published
        .properties()
        .forEach(
            each -> {
              var node = each.getValue();
              var reference = PREFIX + node.get("kind").asText() + ":" + node.get("place").asText();
              secrets.put(each.getKey(), new Secret(reference, Json.texts(node.get("hosts"))));
            });
    return secrets;
  }

  /** Returns the paths of the files that have the values of secrets. */
  static List<String> files(Map<String, Secret> secrets) {
    return secrets.values().stream()
        .map(Secret::reference)
        .filter(reference -> reference.startsWith(FILE))
        .map(reference -> reference.substring(FILE.length()))
        .toList();
  }

  static void publish(Map<String, Secret> secrets) {
    current = secrets;
  }

  /** Returns the name in a reference `secret:NAME`, in lower case, or null for any other value. */
  static String nameIn(String value) {
    if (value == null || !Secrets.isReference(value)) return null;
    var name = value.substring(PREFIX.length());
    return name.isEmpty() || name.contains(":") ? null : name.toLowerCase(Locale.ROOT);
  }

  /** Returns whether a value is a reference to a file or a variable, which is for an ADMIN only. */
  public static boolean isPlace(String value) {
    return value != null && Secrets.isReference(value) && nameIn(value) == null;
  }

  /**
   * Returns the value of an option, with the secret in place of a reference. Throws
   * SECRET_NOT_READABLE, and SECRET_NOT_FOR_HOST before the secret is read.
   *
   * @param options all options of the table or the connection, which have the addresses
   */
  public static String reveal(String option, String value, Map<String, String> options) {
    if (!Secrets.areRead() || value == null || !Secrets.isReference(value)) return value;
    try {
      var secret = Secrets.reveal(checked(current, option, value, options));
      SecretAudit.noteRead(option, value, options, "");
      return secret;
    } catch (Exception e) { // JetSqlException, which no Scala method declares
      var condition = e instanceof JetSqlException error ? error.getCondition() : "UNKNOWN";
      SecretAudit.noteRead(option, value, options, condition);
      throw Exceptions.raise(e);
    }
  }

  /** Returns options with the secrets in place of their references. */
  public static Map<String, String> reveal(Map<String, String> options) {
    var revealed = new HashMap<String, String>();
    options.forEach((name, value) -> revealed.put(name, reveal(name, value, options)));
    return revealed;
  }

  /**
   * Returns the file or the variable of a reference as a reference. Throws the error of a secret
   * that does not exist or may not be sent to the addresses in the options.
   */
  static String checked(
      Map<String, Secret> secrets, String option, String value, Map<String, String> options) {
    var name = nameIn(value);
    if (name == null) return value;
    var secret = secrets.get(name);
    if (secret == null)
      throw Connections.refusal(
          "SECRET_NOT_READABLE",
          "42704",
          "There is no secret named " + name + ". SHOW SECRETS lists them.");
    if (!secret.hosts().isEmpty()) Hosts.check(name, secret.hosts(), option, options);
    return secret.reference();
  }

  /**
   * Returns the options of a table (a JSON object) with the secrets in place of their references.
   *
   * @param user who needs them if the session is one of the engine itself
   */
  public static String revealOptions(SparkSession session, String user, String options) {
    var given = new HashMap<String, String>();
    Json.readObject(options)
        .properties()
        .forEach(option -> given.put(option.getKey(), option.getValue().asText()));
    return Json.write(SecretAudit.readFor(session, user, () -> reveal(given)));
  }
}
