package dev.jetsql.kafka.registry;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLHandshakeException;

/**
 * A client of a schema registry with Confluent's API. It needs few requests, so it uses Java's own
 * HTTP client: the registries' client libraries depend on dozens of jars, some of them in other
 * versions than Spark's.
 *
 * <p>Executors receive a copy with each task. The caches belong to the process.
 */
public final class SchemaRegistry<S> implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Duration CONNECT = Duration.ofSeconds(5);
  private static final Duration ANSWER = Duration.ofSeconds(15);
  private static final int MAX_BYTES = 16 * 1024 * 1024;
  private static final int MAX_REFERENCES = 100;
  private static final String MEDIA = "application/vnd.schemaregistry.v1+json";
  private static final SchemaCache CACHE = new SchemaCache();

  private final String url;
  private final TreeMap<String, String> headers;
  private final TrustedCertificates trusted;
  private final SchemaReader<S> reader;

  /**
   * @param headers the headers of each request, with the values of secrets
   * @param trusted the certificates to trust; null for those of Java
   */
  SchemaRegistry(
      String url,
      Map<String, String> headers,
      TrustedCertificates trusted,
      SchemaReader<S> reader) {
    this.trusted = trusted;
    this.reader = reader;
    this.url = url.replaceAll("/+$", "");
    this.headers = new TreeMap<>(headers);
  }

  /**
   * A schema of the registry.
   *
   * @param schema null if it cannot be used
   * @param problem the reason why it cannot be used, as a clause without a full stop
   */
  public record Registered<S>(int id, S schema, String problem) {}

  /** Returns the name of the registry in messages, which has no secret. */
  @Override
  public String toString() {
    return "The schema registry " + url;
  }

  /**
   * Returns the schema with an id, or null if the registry has none. Throws
   * EXTERNAL_SYSTEM_UNAVAILABLE and SOURCE_NOT_READY.
   */
  public Registered<S> byId(int id) {
    return CACHE.byId(cacheKey(), id, () -> fetchById(id));
  }

  private Registered<S> fetchById(int id) {
    JsonNode found = get(id, "SOURCE_NOT_READY");
    if (found == null) return null;
    try {
      return new Registered<>(id, parse(found, "SOURCE_NOT_READY"), null);
    } catch (IllegalArgumentException e) {
      return new Registered<>(id, null, e.getMessage());
    }
  }

  /** Returns a schema, that of Protobuf as a descriptor, or null if the registry has none. */
  private JsonNode get(int id, String condition) {
    String path = "/schemas/ids/" + id;
    if (reader.type() != SchemaType.PROTOBUF) return get(path, condition);
    HttpResponse<byte[]> response = send(request(path + "?format=serialized").GET().build());
    boolean isRefused = response.statusCode() != 200 && response.statusCode() != 404;
    // Some registries refuse this format for schemas of other types.
    JsonNode plain = isRefused ? get(path, condition) : null;
    boolean isOther = plain != null && !typeOf(plain).equals(reader.type().name());
    return isOther ? plain : content(response, condition);
  }

  private String cacheKey() {
    return reader.type() + url + headers.hashCode();
  }

  /**
   * Returns a version of a subject, or null if the registry has none.
   *
   * @param version a number or `latest`
   * @param condition the condition of the error if the registry refuses the request, or if its
   *     schema cannot be used
   */
  public Registered<S> version(String subject, String version, String condition) {
    return CACHE.version(
        cacheKey(), subject, version, () -> fetchVersion(subject, version, condition));
  }

  private Registered<S> fetchVersion(String subject, String version, String condition) {
    JsonNode found = get(pathOf(subject, version), condition);
    if (found == null) return null;
    try {
      return new Registered<>(
          found.path("id").asInt(), parse(withDescriptor(found, condition), condition), null);
    } catch (IllegalArgumentException e) {
      throw error(
          condition,
          "42501",
          this + " has a schema for the subject " + subject + ", but " + e.getMessage() + ".");
    }
  }

  private static String pathOf(String subject, String version) {
    return "/subjects/" + encode(subject) + "/versions/" + encode(version);
  }

  /** Returns a version of a subject with the descriptor of a Protobuf schema. */
  private JsonNode withDescriptor(JsonNode version, String condition) {
    checkType(version);
    if (reader.type() != SchemaType.PROTOBUF) return version;
    JsonNode found = get(version.path("id").asInt(), condition);
    return found == null ? version : found;
  }

  /**
   * Registers a schema under a subject, unless it is registered, and returns its id. Throws
   * SINK_NOT_READY with the registry's reason if the subject's compatibility rule refuses it.
   */
  int register(String subject, String schema) {
    return CACHE.registered(cacheKey(), subject, schema, () -> post(subject, schema));
  }

  private int post(String subject, String schema) {
    SchemaType type = reader.type();
    String body =
        Json.write(
            type == SchemaType.AVRO // the only type of old registries
                ? Map.of("schema", schema)
                : Map.of("schema", schema, "schemaType", type.name()));
    HttpResponse<byte[]> response =
        send(
            request("/subjects/" + encode(subject) + "/versions")
                .header("Content-Type", MEDIA)
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build());
    if (response.statusCode() == 200) return json(response).path("id").asInt();
    if (response.statusCode() != 409) throw refused(response, "SINK_NOT_READY");
    throw error(
        "SINK_NOT_READY",
        "42501",
        this
            + " refuses the schema of the table's columns for the subject "
            + subject
            + ", whose compatibility rule is "
            + rule(subject)
            + ": "
            + reason(response)
            + " Give the table columns and types that the rule allows, "
            + (type == SchemaType.AVRO ? "set 'avro.schema', " : "")
            + "or write with a registered version: '"
            + option(RegistryOptions.VERSION)
            + "' = 'latest'.");
  }

  private String rule(String subject) {
    JsonNode config = get("/config/" + encode(subject) + "?defaultToGlobal=true", "SINK_NOT_READY");
    if (config == null) config = get("/config", "SINK_NOT_READY");
    return config == null ? "unknown" : config.path("compatibilityLevel").asText("unknown");
  }

  /** Returns the JSON at a path, or null for the status 404. */
  private JsonNode get(String path, String condition) {
    return content(send(request(path).GET().build()), condition);
  }

  private JsonNode content(HttpResponse<byte[]> response, String condition) {
    if (response.statusCode() == 404) return null;
    if (response.statusCode() != 200) throw refused(response, condition);
    return json(response);
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url + path)).header("Accept", MEDIA);
    headers.forEach(request::setHeader);
    return request;
  }

  private HttpResponse<byte[]> send(HttpRequest request) {
    // The timeout of a request would end with the head of its response.
    var sent = Client.of(trusted).sendAsync(request, head -> limitedBody());
    try {
      return sent.get(ANSWER.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      sent.cancel(true);
      throw unavailable("has sent no complete answer for " + ANSWER.toSeconds() + " s");
    } catch (InterruptedException e) {
      sent.cancel(true);
      throw Exceptions.raise(e);
    } catch (ExecutionException e) {
      throw unreachable(e.getCause());
    }
  }

  private static HttpResponse.BodySubscriber<byte[]> limitedBody() {
    return HttpResponse.BodySubscribers.mapping(
        HttpResponse.BodySubscribers.ofInputStream(),
        stream -> {
          try (stream) {
            return stream.readNBytes(MAX_BYTES);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }

  private RuntimeException unreachable(Throwable error) {
    var cause = error instanceof UncheckedIOException body ? body.getCause() : error;
    if (!(cause instanceof IOException)) throw Exceptions.raise(cause);
    String detail = cause.getMessage() == null ? "no connection" : cause.getMessage();
    if (cause instanceof SSLHandshakeException) {
      throw unavailable(
          "has a certificate that is not trusted, or refuses the connection: "
              + detail
              + ". Set '"
              + option(RegistryOptions.TRUST_STORE)
              + "' in the table's OPTIONS to a file with its certificate or that of its"
              + " authority");
    }
    throw unavailable(
        "cannot be reached: " + detail + " (" + cause.getClass().getSimpleName() + ")");
  }

  private JsonNode json(HttpResponse<byte[]> response) {
    try {
      return Json.MAPPER.readTree(response.body());
    } catch (IOException e) {
      throw unavailable("returned no JSON. Check its URL.");
    }
  }

  private RuntimeException refused(HttpResponse<byte[]> response, String condition) {
    int status = response.statusCode();
    if (status >= 500 || status == 429) {
      throw unavailable("answers with the status " + status + ": " + reason(response));
    }
    String hint =
        status == 401 || status == 403
            ? " Check '"
                + option(RegistryOptions.USER_INFO)
                + "' or '"
                + option(RegistryOptions.TOKEN)
                + "' in the table's OPTIONS."
            : " Check '" + option(RegistryOptions.URL) + "' in the table's OPTIONS.";
    throw error(
        condition,
        "42501",
        this + " refuses the request with the status " + status + ": " + reason(response) + hint);
  }

  /** Returns the registry's message as a sentence. */
  private static String reason(HttpResponse<byte[]> response) {
    String text = new String(response.body(), StandardCharsets.UTF_8);
    try {
      text = Json.MAPPER.readTree(text).path("message").asText(text);
    } catch (IOException e) {
      text = text.replaceAll("<[^>]*>", " "); // a proxy answers with a page
    }
    String line = text.strip().replaceAll("\\s+", " ");
    if (line.isEmpty()) return "no reason given.";
    if (line.length() > 1000) line = line.substring(0, 1000) + " ...";
    return line.endsWith(".") ? line : line + ".";
  }

  private RuntimeException unavailable(String problem) {
    throw error(
        "EXTERNAL_SYSTEM_UNAVAILABLE",
        "08001",
        this + " " + problem + (problem.endsWith(".") ? "" : "."));
  }

  private static RuntimeException error(String condition, String state, String message) {
    return Exceptions.raise(JetSqlException.of(condition, state, message));
  }

  private String option(String name) {
    return RegistryOptions.option(reader.type(), name);
  }

  /** Returns the schema in a response. Throws IllegalArgumentException if it cannot be used. */
  private S parse(JsonNode found, String condition) {
    checkType(found);
    int[] count = new int[1];
    return reader.read(
        document(found),
        reference -> {
          if (++count[0] > MAX_REFERENCES)
            throw new IllegalArgumentException("it has too many references");
          return referenced(reference, condition);
        });
  }

  private static String typeOf(JsonNode found) {
    return found.path("schemaType").asText("AVRO"); // which old registries do not mention
  }

  private void checkType(JsonNode found) {
    String type = typeOf(found);
    if (type.equals(reader.type().name())) return;
    throw new IllegalArgumentException(
        "it is of the type "
            + type
            + ", and the table's messages are "
            + reader.type().name()
            + ". Check 'value.format' and '"
            + option(RegistryOptions.SUBJECT)
            + "' in the table's OPTIONS");
  }

  private static SchemaReader.Document document(JsonNode found) {
    List<SchemaReader.Reference> references = new ArrayList<>();
    for (JsonNode reference : found.path("references")) {
      references.add(
          new SchemaReader.Reference(
              reference.path("name").asText(),
              reference.path("subject").asText(),
              reference.path("version").asInt()));
    }
    return new SchemaReader.Document(found.path("schema").asText(), references);
  }

  private SchemaReader.Document referenced(SchemaReader.Reference reference, String condition) {
    String version = Integer.toString(reference.version());
    JsonNode found = get(pathOf(reference.subject(), version), condition);
    if (found == null) {
      throw new IllegalArgumentException(
          "it refers to the version "
              + version
              + " of the subject "
              + reference.subject()
              + ", which the registry does not have");
    }
    return document(withDescriptor(found, condition));
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** The HTTP clients of the process, one for each set of trusted certificates. */
  private static final class Client {
    private static final Map<Optional<TrustedCertificates>, HttpClient> CLIENTS =
        new ConcurrentHashMap<>();

    static HttpClient of(TrustedCertificates trusted) {
      return CLIENTS.computeIfAbsent(Optional.ofNullable(trusted), Client::create);
    }

    private static HttpClient create(Optional<TrustedCertificates> trusted) {
      // Redirects are refused: they would send the credentials to another host.
      HttpClient.Builder client =
          HttpClient.newBuilder()
              .version(HttpClient.Version.HTTP_1_1)
              .connectTimeout(CONNECT)
              .followRedirects(HttpClient.Redirect.NEVER);
      trusted.ifPresent(certificates -> client.sslContext(certificates.context()));
      return client.build();
    }
  }
}
