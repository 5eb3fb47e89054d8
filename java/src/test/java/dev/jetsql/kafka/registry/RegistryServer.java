package dev.jetsql.kafka.registry;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** A schema registry with fixed answers to requests, such as `GET /schemas/ids/1`. */
public final class RegistryServer implements AutoCloseable {
  private final HttpServer server;
  private final Map<String, String> answers = new ConcurrentHashMap<>();
  private final List<String> requests = new CopyOnWriteArrayList<>();
  private final Map<String, Integer> statuses = new ConcurrentHashMap<>();

  public RegistryServer() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          String request = exchange.getRequestMethod() + " " + exchange.getRequestURI();
          requests.add(request);
          exchange.getRequestBody().readAllBytes();
          String answer = answers.get(request);
          int status = answer == null ? 404 : statuses.get(request);
          byte[] body = (answer == null ? "{}" : answer).getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(status, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  public void answer(String request, String json) {
    answer(request, 200, json);
  }

  public void answer(String request, int status, String json) {
    statuses.put(request, status);
    answers.put(request, json.replace('\'', '"'));
  }

  public List<String> requests() {
    return requests;
  }

  /** Returns the options of a table with this registry. */
  public Map<String, String> options(SchemaType type) {
    String url = "http://127.0.0.1:" + server.getAddress().getPort();
    return Map.of(RegistryOptions.option(type, RegistryOptions.URL), url, "topic", "t");
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
