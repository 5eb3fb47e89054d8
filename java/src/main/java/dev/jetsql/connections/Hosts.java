package dev.jetsql.connections;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The hosts that a secret is for, and the addresses to which options send it. What cannot be read
 * for certain is refused: a driver may read an address in another way.
 */
public final class Hosts {
  private static final String HOST = "(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\\[[0-9a-f:.]+\\])";
  private static final Pattern TARGET =
      Pattern.compile(
          "(?<scheme>kafka|https?|s3a|jdbc:(?:postgresql|mysql|mariadb))://(?<host>"
              + HOST
              + ")(?::(?<port>[0-9]{1,5}))?/?");
  private static final Pattern ADDRESS =
      Pattern.compile("(?<host>" + HOST + ")(?::(?<port>[0-9]{1,5}))?");
  private static final Pattern JDBC =
      Pattern.compile(
          "(?<scheme>jdbc:(?:postgresql|mysql|mariadb))://(?<hosts>[^/?#]+)"
              + "(?:/(?<database>[\\w.%-]*))?(?:\\?(?<parameters>[^#?]*))?");

  /** The parameters of drivers that name no host, class or file. */
  private static final Set<String> PARAMETERS =
      Set.of(
          "applicationname",
          "binarytransfer",
          "characterencoding",
          "connecttimeout",
          "connectiontimezone",
          "currentschema",
          "defaultrowfetchsize",
          "gssencmode",
          "loadbalancehosts",
          "logintimeout",
          "preferquerymode",
          "preparethreshold",
          "readonly",
          "requiressl",
          "rewritebatchedinserts",
          "rewritebatchedstatements",
          "servertimezone",
          "sockettimeout",
          "ssl",
          "sslmode",
          "stringtype",
          "targetservertype",
          "tcpkeepalive",
          "useservercompression",
          "usessl",
          "useunicode");

  private static final Set<String> DRIVERS =
      Set.of("org.postgresql.Driver", "com.mysql.cj.jdbc.Driver", "org.mariadb.jdbc.Driver");

  private Hosts() {}

  /** One address, with no port for any port. */
  private record Address(String scheme, String host, String port) {
    boolean covers(Address other) {
      return scheme.equals(other.scheme)
          && host.equals(other.host)
          && (port == null || port.equals(other.port));
    }

    @Override
    public String toString() {
      return scheme + "://" + host + (port == null ? "" : ":" + port);
    }
  }

  /** Returns what is wrong with a URL in CREATE SECRET ... FOR, or null. */
  public static String problem(String url) {
    if (target(url) != null) return null;
    return "'"
        + url
        + "' is not the URL of a host. Write one such as 'jdbc:postgresql://host/',"
        + " 'kafka://host:9092', 'https://registry:8081' or 's3a://bucket/'.";
  }

  private static Address target(String url) {
    var match = TARGET.matcher(Connections.lower(url.strip()));
    return match.matches()
        ? new Address(match.group("scheme"), match.group("host"), match.group("port"))
        : null;
  }

  /**
   * Throws SECRET_NOT_FOR_HOST if an option sends a secret to another host.
   *
   * @param hosts the URLs of the secret
   * @param option the one that has the secret
   * @param options all options of the table or the connection
   */
  static void check(String secret, List<String> hosts, String option, Map<String, String> options) {
    var targets = hosts.stream().map(Hosts::target).toList();
    var addresses = addresses(secret, Connections.lower(option), options);
    if (addresses.isEmpty()) throw refusal(secret, "the options name no host.");
    for (var address : addresses) {
      if (targets.stream().noneMatch(target -> target != null && target.covers(address)))
        throw refusal(
            secret, "it is for " + String.join(", ", hosts) + ", and not for " + address + ".");
    }
  }

  private static List<Address> addresses(
      String secret, String option, Map<String, String> options) {
    var registry = option.indexOf("schema.registry.");
    if (registry >= 0) {
      var url = option.substring(0, registry) + "schema.registry.url";
      return List.of(webAddress(secret, get(options, url)));
    }
    if (servers(options) != null) return ofKafka(secret, options);
    if (get(options, "url") != null && Connections.lower(get(options, "url")).startsWith("jdbc:"))
      return ofJdbc(secret, options);
    if (get(options, "url") != null) return List.of(webAddress(secret, get(options, "url")));
    if (get(options, "bucket") != null) return ofBucket(secret, options);
    return List.of();
  }

  private static List<Address> ofKafka(String secret, Map<String, String> options) {
    var addresses = new ArrayList<Address>();
    for (var server : servers(options).split(",", -1)) {
      var match = ADDRESS.matcher(Connections.lower(server.strip()));
      if (!match.matches()) throw unreadable(secret, "kafka.bootstrap.servers");
      addresses.add(new Address("kafka", match.group("host"), match.group("port")));
    }
    for (var option : options.entrySet()) {
      var key = Connections.lower(option.getKey());
      if (key.contains(".registry.")) continue;
      if (key.endsWith(".url") || key.endsWith(".uri"))
        addresses.add(webAddress(secret, option.getValue()));
      if (key.endsWith(".class") || key.endsWith(".classes") || key.endsWith(".reporters"))
        throw refusal(secret, "the option '" + option.getKey() + "' loads a class.");
    }
    return addresses;
  }

  private static Address webAddress(String secret, String url) {
    try {
      var uri = url == null ? null : new URI(Connections.lower(url.strip()));
      if (uri != null
          && uri.getHost() != null
          && uri.getUserInfo() == null
          && List.of("http", "https").contains(uri.getScheme()))
        return new Address(
            uri.getScheme(), uri.getHost(), uri.getPort() < 0 ? null : "" + uri.getPort());
    } catch (URISyntaxException e) {
      throw unreadable(secret, "url");
    }
    throw unreadable(secret, "url");
  }

  /** Returns the bucket, and the store that gets the requests. */
  private static List<Address> ofBucket(String secret, Map<String, String> options) {
    var bucket = new Address("s3a", Connections.lower(get(options, "bucket")), null);
    var endpoint = get(options, "endpoint");
    return endpoint == null ? List.of(bucket) : List.of(bucket, webAddress(secret, endpoint));
  }

  private static List<Address> ofJdbc(String secret, Map<String, String> options) {
    var url = JDBC.matcher(get(options, "url").strip());
    if (!url.matches()) throw unreadable(secret, "url");
    if (url.group("parameters") != null)
      for (var parameter : url.group("parameters").split("&", -1))
        checkParameter(secret, parameter.split("=", 2)[0]);
    for (var name : options.keySet())
      if (!ConnectionOptions.isOfSpark(name)) checkParameter(secret, name);
    var driver = get(options, "driver");
    if (driver != null && !DRIVERS.contains(driver))
      throw refusal(secret, "the driver " + driver + " is not one that JetSQL knows.");
    var addresses = new ArrayList<Address>();
    for (var host : url.group("hosts").split(",", -1)) {
      var match = ADDRESS.matcher(Connections.lower(host));
      if (!match.matches()) throw unreadable(secret, "url");
      addresses.add(
          new Address(
              Connections.lower(url.group("scheme")), match.group("host"), match.group("port")));
    }
    return addresses;
  }

  private static void checkParameter(String secret, String name) {
    if (name.isEmpty() || PARAMETERS.contains(Connections.lower(name))) return;
    throw refusal(
        secret, "the parameter '" + name + "' of the driver may name a host, a class or a file.");
  }

  /** Returns the addresses of brokers in options of a table, or in those of a client. */
  private static String servers(Map<String, String> options) {
    var ofTable = get(options, "kafka.bootstrap.servers");
    return ofTable == null ? get(options, "bootstrap.servers") : ofTable;
  }

  private static String get(Map<String, String> options, String name) {
    for (var option : options.entrySet())
      if (option.getKey().equalsIgnoreCase(name)) return option.getValue();
    return null;
  }

  private static RuntimeException unreadable(String secret, String option) {
    return refusal(secret, "the hosts in the option '" + option + "' cannot be read for certain.");
  }

  private static RuntimeException refusal(String secret, String reason) {
    return Connections.refusal(
        "SECRET_NOT_FOR_HOST", "42501", "Cannot send the secret " + secret + ": " + reason);
  }
}
