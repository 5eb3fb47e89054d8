package dev.jetsql.kafka.registry;

import dev.jetsql.common.Secrets;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The options of a table that begin with `avro.schema.registry.`. */
public final class RegistryOptions {
  public static final String PREFIX = "avro.schema.registry.";
  public static final String URL = PREFIX + "url";
  public static final String SUBJECT = PREFIX + "subject";
  public static final String VERSION = PREFIX + "version";
  public static final String USER_INFO = PREFIX + "basic.auth.user.info";
  public static final String TOKEN = PREFIX + "bearer.auth.token";
  public static final String HEADER = PREFIX + "header.";
  public static final String TRUST_STORE = PREFIX + "ssl.truststore.location";
  public static final String TRUST_PASSWORD = PREFIX + "ssl.truststore.password";
  public static final List<String> NAMES =
      List.of(URL, SUBJECT, VERSION, USER_INFO, TOKEN, TRUST_STORE, TRUST_PASSWORD);

  private RegistryOptions() {}

  /** Returns whether an option, in lower case, may refer to a secret. */
  public static boolean maySecret(String key) {
    return key.equals(USER_INFO)
        || key.equals(TOKEN)
        || key.equals(TRUST_PASSWORD)
        || key.startsWith(HEADER);
  }

  /** Returns whether an option, in lower case, is the header of requests. */
  public static boolean isHeader(String key) {
    return key.startsWith(HEADER) && key.length() > HEADER.length();
  }

  /** Returns the registry in a table's options, or null without one. Reads the secrets. */
  public static SchemaRegistry registry(Map<String, String> tableOptions) {
    Map<String, String> headers = new HashMap<>();
    String url = null;
    String trustStore = null;
    String password = null;
    for (Map.Entry<String, String> option : tableOptions.entrySet()) {
      String key = option.getKey().toLowerCase(Locale.ROOT);
      String value = option.getValue();
      if (key.equals(URL)) url = value;
      else if (key.equals(TRUST_STORE)) trustStore = value;
      else if (key.equals(TRUST_PASSWORD)) password = Secrets.reveal(value);
      else if (key.equals(USER_INFO)) headers.put("Authorization", basic(Secrets.reveal(value)));
      else if (key.equals(TOKEN)) headers.put("Authorization", "Bearer " + Secrets.reveal(value));
      else if (isHeader(key)) {
        headers.put(option.getKey().substring(HEADER.length()), Secrets.reveal(value));
      }
    }
    if (url == null) return null;
    TrustedCertificates trusted =
        trustStore == null ? null : TrustedCertificates.read(trustStore, password);
    return new SchemaRegistry(url, headers, trusted);
  }

  private static String basic(String userInfo) {
    byte[] bytes = userInfo.getBytes(StandardCharsets.UTF_8);
    return "Basic " + Base64.getEncoder().encodeToString(bytes);
  }
}
