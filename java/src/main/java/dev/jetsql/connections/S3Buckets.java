package dev.jetsql.connections;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Reflection;
import dev.jetsql.common.Secrets;
import dev.jetsql.rights.EnginePlaces;
import dev.jetsql.rights.Location;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext$;

/**
 * The connections of buckets. A table names none: all access to a bucket has the login of its
 * connection, by Hadoop's settings of a bucket, so that no option or plan of a table has any of it.
 * All settings that decide where a login goes are set, so that none of the engine applies to it,
 * and no login of the engine goes to the endpoint of a connection.
 */
public final class S3Buckets {
  private static final String TYPE = "s3";
  private static final String SCHEME = "s3a";
  private static final String CLASSES = "org.apache.hadoop.fs.s3a.";

  /** The options, each with the form of its values. */
  private static final Map<String, Pattern> OPTIONS =
      Map.of(
          "bucket", Pattern.compile("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
          "prefix", Pattern.compile("[^*?\\[\\]{}\\\\%#\\p{Cntrl}]+"),
          "endpoint", Pattern.compile("https?://[\\w.:\\[\\]-]+/?"),
          "region", Pattern.compile("[\\w-]+"),
          "path.style", Pattern.compile("true|false"),
          "access.key", Pattern.compile("secret:.+"),
          "secret.key", Pattern.compile("secret:.+"),
          "session.token", Pattern.compile("secret:.+"));

  private static final List<String> LOGIN = List.of("access.key", "secret.key", "session.token");

  private static Map<String, Map<String, String>> published = Map.of(); // settings by buckets
  private static Configuration configured; // that of Spark which has them

  private S3Buckets() {}

  /** Returns the names of the options. */
  static List<String> options() {
    return OPTIONS.keySet().stream().sorted().toList();
  }

  /** Returns whether an option can name a secret. */
  static boolean maySecret(String key) {
    return LOGIN.contains(key);
  }

  /** Throws the error of a value of an option of a connection. */
  static void check(String name, String value) {
    var form = OPTIONS.get(Connections.lower(name));
    if (form == null)
      throw Connections.refusal(
          "UNKNOWN_OPTION",
          "42616",
          "Connections of TYPE s3 have no option '"
              + name
              + "'."
              + Connections.suggestion(options(), name));
    if (!form.matcher(value).matches() || (name.equalsIgnoreCase("prefix") && !isFolder(value)))
      throw wrong(
          "The value of the option '" + name + "' is not possible for a connection of TYPE s3.");
  }

  private static boolean isFolder(String prefix) {
    return Location.problem(SCHEME + "://bucket/" + prefix) == null;
  }

  /** Throws the error of the options of a connection together. state: with the connection */
  public static void check(Map<String, String> given, Connections.State state) {
    var options = lower(given);
    if (!options.keySet().containsAll(List.of("access.key", "secret.key")))
      throw wrong("A connection of TYPE s3 needs the options 'access.key' and 'secret.key'.");
    if (!options.containsKey("endpoint") && !options.containsKey("region"))
      throw wrong(
          "A connection of TYPE s3 needs the option 'endpoint', or 'region' for Amazon's S3.");
    var bucket = options.get("bucket");
    if (buckets(state).filter(each -> each.get("bucket").equals(bucket)).count() > 1)
      throw wrong("Another connection is for the bucket '" + bucket + "'. A bucket has one login.");
    if (EnginePlaces.hasBucket(bucket))
      throw wrong(
          "The bucket '" + bucket + "' is that of the storage of the engine, which has its login.");
    if (!isLoaded())
      throw Connections.refusal(
          "NOT_SUPPORTED",
          "0A000",
          "The connector of S3 is not loaded. Start the engine with --s3 or the setting s3 ="
              + " true.");
    settings(options, state.secrets());
  }

  private static boolean isLoaded() {
    try {
      Class.forName(
          CLASSES + "S3AFileSystem", false, Thread.currentThread().getContextClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /** Returns the location of a connection; null for one of another type. */
  public static Location location(Connections.Connection connection) {
    if (!connection.type().equals(TYPE)) return null;
    var options = lower(connection.options());
    return Location.of(
        new Path(SCHEME + "://" + options.get("bucket") + "/" + options.getOrDefault("prefix", ""))
            .toUri());
  }

  /** Sets Hadoop's settings of all buckets, and forgets connections that have changed. */
  static synchronized void publish(Connections.State state) {
    var context = SparkContext$.MODULE$.getActive();
    if (context.isEmpty()) return;
    var next = new HashMap<String, Map<String, String>>();
    buckets(state)
        .forEach(options -> next.put(options.get("bucket"), usable(options, state.secrets())));
    var hadoop = context.get().hadoopConfiguration();
    if (hadoop != configured) published = Map.of(); // of an earlier Spark in this process
    configured = hadoop;
    var all = new HashSet<>(published.keySet());
    all.addAll(next.keySet());
    for (var bucket : all) {
      var before = published.getOrDefault(bucket, Map.of());
      var after = next.getOrDefault(bucket, Map.of());
      if (before.equals(after)) continue;
      before.keySet().forEach(name -> hadoop.unset(prefix(bucket) + name));
      after.forEach((name, value) -> hadoop.set(prefix(bucket) + name, value));
      forget(bucket);
    }
    published = next;
  }

  private static String prefix(String bucket) {
    return "fs.s3a.bucket." + bucket + ".";
  }

  private static Stream<Map<String, String>> buckets(Connections.State state) {
    return state.connections().values().stream()
        .filter(connection -> connection.type().equals(TYPE))
        .map(connection -> lower(connection.options()));
  }

  /** Returns the settings, without a login if it cannot be read: then the store refuses access. */
  private static Map<String, String> usable(
      Map<String, String> options, Map<String, NamedSecrets.Secret> secrets) {
    try {
      return settings(options, secrets);
    } catch (Exception e) { // JetSQL's errors are checked
      if (!(e instanceof JetSqlException)) throw e;
      var settings = place(options);
      settings.put("aws.credentials.provider", CLASSES + "AnonymousAWSCredentialsProvider");
      return settings;
    }
  }

  private static Map<String, String> settings(
      Map<String, String> options, Map<String, NamedSecrets.Secret> secrets) {
    var settings = place(options);
    for (var name : LOGIN) {
      var value = options.get(name);
      if (value != null)
        settings.put(name, Secrets.reveal(NamedSecrets.checked(secrets, name, value, options)));
    }
    settings.put(
        "aws.credentials.provider",
        CLASSES
            + (options.containsKey("session.token")
                ? "TemporaryAWSCredentialsProvider"
                : "SimpleAWSCredentialsProvider"));
    return settings;
  }

  private static Map<String, String> place(Map<String, String> options) {
    var region = options.getOrDefault("region", "us-east-1");
    var endpoint = options.getOrDefault("endpoint", "https://s3." + region + ".amazonaws.com");
    var settings = new HashMap<String, String>();
    settings.put("endpoint", endpoint.replaceFirst("/$", ""));
    settings.put("endpoint.region", region);
    settings.put("path.style.access", options.getOrDefault("path.style", "false"));
    settings.put("connection.ssl.enabled", Boolean.toString(endpoint.startsWith("https:")));
    return settings;
  }

  private static Map<String, String> lower(Map<String, String> options) {
    var lower = new TreeMap<String, String>();
    options.forEach((name, value) -> lower.put(name.toLowerCase(Locale.ROOT), value));
    return lower;
  }

  /**
   * Removes the file systems of a bucket from Hadoop's cache, so that the next access has the new
   * login. They stay open for the jobs that use them.
   */
  private static void forget(String bucket) {
    try {
      var cache = Reflection.field(FileSystem.class, "CACHE").get(null);
      var files = (Map<?, ?>) Reflection.field(cache.getClass(), "map").get(cache);
      synchronized (cache) {
        for (var key : List.copyOf(files.keySet()))
          if (isOf(key, "scheme", SCHEME) && isOf(key, "authority", bucket)) files.remove(key);
      }
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  private static boolean isOf(Object key, String field, String value)
      throws ReflectiveOperationException {
    return value.equals(Reflection.field(key.getClass(), field).get(key));
  }

  private static RuntimeException wrong(String message) {
    return Connections.refusal("INVALID_OPTION_VALUE", "22023", message);
  }
}
