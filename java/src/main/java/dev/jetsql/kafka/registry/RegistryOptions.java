package dev.jetsql.kafka.registry;

import dev.jetsql.connections.NamedSecrets;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The options of a table for a schema registry: the format of the messages, `schema.registry.`, and
 * one of the names below, such as `avro.schema.registry.url`.
 */
public final class RegistryOptions {
  public static final String PREFIX = "schema.registry.";
  public static final String URL = "url";
  public static final String SUBJECT = "subject";
  public static final String VERSION = "version";
  public static final String USER_INFO = "basic.auth.user.info";
  public static final String TOKEN = "bearer.auth.token";
  public static final String HEADER = "header.";
  public static final String TRUST_STORE = "ssl.truststore.location";
  public static final String CONNECTION = "connection";
  public static final String TRUST_PASSWORD = "ssl.truststore.password";

  /** A registry over HTTP without TLS, on another machine. */
  private static final Pattern CLEAR_URL =
      Pattern.compile(
          "^http://(?!(?:[^/@]*@)?(?:localhost|127\\.[0-9.]+|\\[::1\\])(?:[:/]|$))",
          Pattern.CASE_INSENSITIVE);

  private static final String CLEAR =
      "The option {} of a new table goes to its schema registry in clear, so that others on the"
          + " network can read it. Use https:// in {}.";
  private static final Logger LOG = LoggerFactory.getLogger(RegistryOptions.class);

  private RegistryOptions() {}

  /** Returns the full name of an option. */
  public static String option(SchemaType type, String name) {
    return type.format() + "." + PREFIX + name;
  }

  /** Returns the type of schemas for which an option, in lower case, is; null for other options. */
  public static SchemaType type(String key) {
    for (SchemaType type : SchemaType.values()) if (key.startsWith(option(type, ""))) return type;
    return null;
  }

  /** Returns the name of an option, in lower case, without the prefix; empty for other options. */
  public static String name(String key) {
    SchemaType type = type(key);
    return type == null ? "" : key.substring(option(type, "").length());
  }

  /** Returns whether an option, in lower case, may refer to a secret. */
  public static boolean maySecret(String key) {
    String name = name(key);
    return name.equals(USER_INFO)
        || name.equals(TOKEN)
        || name.equals(TRUST_PASSWORD)
        || name.startsWith(HEADER);
  }

  /** Returns whether an option, in lower case, is the header of requests. */
  public static boolean isHeader(String key) {
    String name = name(key);
    return name.startsWith(HEADER) && name.length() > HEADER.length();
  }

  /** Returns the value of an option, or null without it. */
  static String get(Map<String, String> tableOptions, SchemaType type, String name) {
    for (Map.Entry<String, String> option : tableOptions.entrySet())
      if (option.getKey().equalsIgnoreCase(option(type, name))) return option.getValue();
    return null;
  }

  /** Returns whether a table's options name a registry with schemas of this type. */
  public static boolean hasRegistry(Map<String, String> tableOptions, SchemaType type) {
    return get(tableOptions, type, URL) != null;
  }

  /** Returns the registry in a table's options, or null without one. Reads the secrets. */
  public static <S> SchemaRegistry<S> registry(
      Map<String, String> tableOptions, SchemaReader<S> reader) {
    Map<String, String> headers = new HashMap<>();
    String url = null;
    String trustStore = null;
    String password = null;
    String prefix = option(reader.type(), "");
    for (Map.Entry<String, String> option : tableOptions.entrySet()) {
      String key = option.getKey().toLowerCase(Locale.ROOT);
      if (!key.startsWith(prefix)) continue;
      String name = option.getKey().substring(prefix.length());
      String value = option.getValue();
      switch (name.toLowerCase(Locale.ROOT)) {
        case URL -> url = value;
        case TRUST_STORE -> trustStore = value;
        case TRUST_PASSWORD -> password = NamedSecrets.reveal(key, value, tableOptions);
        case USER_INFO ->
            headers.put("Authorization", basic(NamedSecrets.reveal(key, value, tableOptions)));
        case TOKEN ->
            headers.put("Authorization", "Bearer " + NamedSecrets.reveal(key, value, tableOptions));
        default -> {
          if (isHeader(key))
            headers.put(
                name.substring(HEADER.length()), NamedSecrets.reveal(key, value, tableOptions));
        }
      }
    }
    if (url == null) return null;
    TrustedCertificates trusted =
        trustStore == null ? null : TrustedCertificates.read(trustStore, password, reader.type());
    return new SchemaRegistry<>(url, headers, trusted, reader);
  }

  /** Logs a warning for each registry to which the credentials of a table's options go in clear. */
  public static void warnOfClearCredentials(Map<String, String> tableOptions) {
    for (SchemaType type : SchemaType.values()) {
      String url = get(tableOptions, type, URL);
      if (url == null || !CLEAR_URL.matcher(url.strip()).find()) continue;
      tableOptions.keySet().stream()
          .map(key -> key.toLowerCase(Locale.ROOT))
          .filter(key -> type(key) == type && isCredential(key))
          .findFirst()
          .ifPresent(key -> LOG.warn(CLEAR, key, option(type, URL)));
    }
  }

  private static boolean isCredential(String key) {
    return name(key).equals(USER_INFO) || name(key).equals(TOKEN) || isHeader(key);
  }

  private static String basic(String userInfo) {
    byte[] bytes = userInfo.getBytes(StandardCharsets.UTF_8);
    return "Basic " + Base64.getEncoder().encodeToString(bytes);
  }
}
