package dev.jetsql.connections;

import dev.jetsql.common.Secrets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** The options of each type of connections, and those that a table with a connection keeps. */
public final class ConnectionOptions {
  private static final List<String> OF_JDBC =
      List.of(
          "url",
          "user",
          "password",
          "driver",
          "connectionProvider",
          "keytab",
          "principal",
          "refreshKrb5Config",
          "sessionInitStatement");
  private static final List<String> OF_REGISTRY =
      List.of(
          "url",
          "basic.auth.user.info",
          "bearer.auth.token",
          "ssl.truststore.location",
          "ssl.truststore.password");

  /** The options that a JDBC table with a connection can have: they name no host or class. */
  private static final Set<String> OF_JDBC_TABLE =
      Set.of(
          "dbtable",
          "query",
          "partitioncolumn",
          "lowerbound",
          "upperbound",
          "numpartitions",
          "fetchsize",
          "batchsize",
          "querytimeout",
          "isolationlevel",
          "truncate",
          "customschema",
          "pushdownpredicate",
          "pushdownaggregate",
          "pushdownlimit",
          "pushdownoffset",
          "pushdowntablesample",
          "prefertimestampntz",
          "key.columns",
          "lookup",
          "lookup.cache.ttl",
          "lookup.cache.rows",
          "path",
          "serialization.format");

  /** The options of Kafka's clients that a table with a connection can have. */
  private static final Set<String> OF_KAFKA_CLIENTS =
      Set.of(
          "kafka.isolation.level",
          "kafka.compression.type",
          "kafka.acks",
          "kafka.linger.ms",
          "kafka.batch.size",
          "kafka.buffer.memory",
          "kafka.max.request.size",
          "kafka.max.poll.records",
          "kafka.max.partition.fetch.bytes",
          "kafka.fetch.max.bytes",
          "kafka.fetch.max.wait.ms",
          "kafka.fetch.min.bytes",
          "kafka.receive.buffer.bytes",
          "kafka.request.timeout.ms",
          "kafka.default.api.timeout.ms",
          "kafka.delivery.timeout.ms",
          "kafka.group.id");

  /** The options of Kafka tables that name no file, table or address, for users without ADMIN. */
  private static final Set<String> OF_KAFKA_USERS =
      Set.of(
          "topic",
          "subscribe",
          "subscribepattern",
          "assign",
          "value.format",
          "key.columns",
          "key.format",
          "avro.schema",
          "avro.schema.id",
          "protobuf.message",
          "protobuf.descriptor",
          "watermark",
          "startingoffsets",
          "failondataloss",
          "includeheaders",
          "delivery.headers",
          "maxoffsetspertrigger",
          "minoffsetspertrigger",
          "maxtriggerdelay",
          "minpartitions",
          "maxrecordsperpartition",
          "startingtimestamp",
          "startingoffsetsbytimestamp",
          "startingoffsetsbytimestampstrategy",
          "endingoffsets",
          "endingtimestamp",
          "endingoffsetsbytimestamp");

  private static final List<String> OF_REGISTRY_TABLE = List.of("connection", "subject", "version");

  private static final Pattern USER_INFO = Pattern.compile("://[^/]*@");
  private static final Pattern PARAMETER = Pattern.compile("[?&;]([\\w.-]+)=");

  private ConnectionOptions() {}

  /** Returns whether a JDBC option is Spark's or JetSQL's, and is not sent to the driver. */
  static boolean isOfSpark(String name) {
    var key = Connections.lower(name);
    return OF_JDBC_TABLE.contains(key) || Connections.contains(OF_JDBC, key);
  }

  /** Returns whether a table of this format can have a connection. */
  public static boolean hasConnection(String format) {
    return format.equals("kafka") || format.equals("jdbc");
  }

  /**
   * Returns whether a user without ADMIN can write an option into a table with a connection.
   *
   * @param format of the table, in lower case
   */
  public static boolean isForUsers(String format, String name) {
    var key = Connections.lower(name);
    if (Connections.isName(key)) return true;
    if (format.equals("jdbc")) return OF_JDBC_TABLE.contains(key) && !key.equals("path");
    var registry = key.indexOf(".schema.registry.");
    if (registry >= 0)
      return OF_REGISTRY_TABLE.contains(key.substring(registry + ".schema.registry.".length()));
    if (OF_KAFKA_CLIENTS.contains(key) || OF_KAFKA_USERS.contains(key)) return true;
    return key.startsWith("json.") || key.startsWith("csv.");
  }

  /** Throws the error of an option that belongs to the connection of a table. */
  static void check(Connections.Connection connection, String prefix, String name) {
    var key = Connections.lower(name);
    var ofConnection =
        switch (connection.type()) {
          case "jdbc" -> !OF_JDBC_TABLE.contains(key);
          case "kafka" -> key.startsWith("kafka.") && !OF_KAFKA_CLIENTS.contains(key);
          default ->
              key.startsWith(prefix) && !OF_REGISTRY_TABLE.contains(key.substring(prefix.length()));
        };
    if (Connections.isName(name)) return;
    var isGiven =
        connection.options().keySet().stream()
            .anyMatch(each -> name.equalsIgnoreCase(prefix + each));
    if (!ofConnection && !isGiven) return;
    throw Connections.refusal(
        "INVALID_OPTION_VALUE",
        "22023",
        "The option '"
            + name
            + "' belongs to the connection "
            + connection.name()
            + (isGiven
                ? ", which has it already. Leave it out."
                : ". Write it there, by ALTER CONNECTION, or leave it out."
                    + (connection.type().equals("jdbc")
                        ? Connections.suggestion(List.copyOf(OF_JDBC_TABLE), name)
                        : "")));
  }

  /** Returns the option without which a connection of a type has no address. */
  public static String address(String type) {
    return switch (type) {
      case "kafka" -> "kafka.bootstrap.servers";
      case "s3" -> "bucket";
      default -> "url";
    };
  }

  /**
   * Throws the error of an option of a connection: its name, or a secret in it.
   *
   * @param options all options of the connection
   * @param state the secrets and connections, as they would be published
   */
  public static void check(
      String type, String name, Map<String, String> options, Connections.State state) {
    var value = options.get(name);
    if (type.equals("registry") && !isOfRegistry(name))
      throw Connections.refusal(
          "UNKNOWN_OPTION",
          "42616",
          "Connections of TYPE registry have no option '"
              + name
              + "'."
              + Connections.suggestion(OF_REGISTRY, name));
    if (type.equals("kafka") && !Connections.lower(name).startsWith("kafka."))
      throw Connections.refusal(
          "UNKNOWN_OPTION",
          "42616",
          "Connections of TYPE kafka have options of Kafka's clients, which begin with 'kafka.',"
              + " and not '"
              + name
              + "'.");
    var isLogin = type.equals("s3") && S3Buckets.maySecret(Connections.lower(name));
    if ((isLogin || Secrets.isName(name)) && !Secrets.isReference(value))
      throw Connections.refusal(
          "INVALID_OPTION_VALUE",
          "22023",
          "The option '"
              + name
              + "' is a secret, which a connection does not store. Write 'secret:NAME', with a"
              + " secret of CREATE SECRET.");
    if (name.equalsIgnoreCase("url") && hasLogin(value))
      throw Connections.refusal(
          "INVALID_OPTION_VALUE",
          "22023",
          "The URL of a connection cannot contain a login. Write options, such as 'user' and"
              + " 'password'.");
    if (type.equals("s3")) S3Buckets.check(name, value);
    if (Secrets.isReference(value) && !maySecret(type, name))
      throw Connections.refusal(
          "INVALID_OPTION_VALUE", "22023", "The option '" + name + "' cannot name a secret.");
    NamedSecrets.checked(state.secrets(), name, value, options);
  }

  private static boolean hasLogin(String url) {
    if (USER_INFO.matcher(url).find()) return true;
    return PARAMETER.matcher(url).results().anyMatch(found -> Secrets.isName(found.group(1)));
  }

  private static boolean isOfRegistry(String name) {
    var key = Connections.lower(name);
    return Connections.contains(OF_REGISTRY, key)
        || (key.startsWith("header.") && key.length() > "header.".length());
  }

  /** Returns the options of JDBC connections that Spark reads. */
  public static List<String> ofJdbc() {
    return OF_JDBC;
  }

  /** Returns whether an option can name a secret. An address cannot: the hosts are read from it. */
  private static boolean maySecret(String type, String name) {
    var key = Connections.lower(name);
    return switch (type) {
      case "kafka" -> !key.equals("kafka.bootstrap.servers");
      case "jdbc" ->
          !Connections.contains(OF_JDBC, key) || key.equals("user") || key.equals("password");
      case "s3" -> S3Buckets.maySecret(key);
      default -> !key.equals("url") && !key.equals("ssl.truststore.location");
    };
  }
}
