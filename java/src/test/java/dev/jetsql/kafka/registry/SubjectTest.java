package dev.jetsql.kafka.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.JetSqlException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SubjectTest {
  private RegistryServer server;

  @BeforeEach
  void start() throws IOException {
    server = new RegistryServer();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private Subject<JsonNode> subject(String... options) {
    Map<String, String> all = new HashMap<>(server.options(SchemaType.JSON));
    for (int i = 0; i < options.length; i += 2)
      all.put(RegistryOptions.option(SchemaType.JSON, options[i]), options[i + 1]);
    return Subject.ofValues(all, new JsonSchemas());
  }

  private static void assertRefused(String condition, String message, Runnable call) {
    JetSqlException error = assertThrows(JetSqlException.class, call::run);
    assertEquals("JETSQL." + condition, error.getCondition());
    assertTrue(error.getMessage().contains(message), error.getMessage());
  }

  @Test
  void findsThePinnedOrNewestVersion() {
    server.answer(
        "GET /subjects/t-value/versions/latest", "{'id': 3, 'schemaType': 'JSON', 'schema': '3'}");
    server.answer(
        "GET /subjects/o%2Fx/versions/7", "{'id': 4, 'schemaType': 'JSON', 'schema': '{}'}");
    assertEquals(3, subject().find("SOURCE_NOT_READY").id());
    assertEquals(4, subject("subject", "o/x", "version", "7").findPinned().id());
    assertRefused(
        "SINK_NOT_READY",
        "has no version 8 of the subject t-value. Register it, or leave out"
            + " 'json.schema.registry.version'",
        () -> subject("version", "8").findPinned());
  }

  @Test
  void refusesSchemasOfOtherTypes() {
    server.answer("GET /subjects/t-value/versions/latest", "{'id': 3, 'schema': '\\'long\\''}");
    assertRefused(
        "SINK_NOT_READY",
        "for the subject t-value, but it is of the type AVRO, and the table's messages are JSON.",
        () -> subject().find("SINK_NOT_READY"));
  }

  @Test
  void reportsTheRuleThatRefusesASchema() {
    server.answer("POST /subjects/t-value/versions", 409, "{'message': 'PROPERTY_REMOVED'}");
    server.answer("GET /config/t-value?defaultToGlobal=true", "{'compatibilityLevel': 'FULL'}");
    assertRefused(
        "SINK_NOT_READY",
        "for the subject t-value, whose compatibility rule is FULL: PROPERTY_REMOVED. Give the"
            + " table columns and types that the rule allows, or write with a registered version:"
            + " 'json.schema.registry.version' = 'latest'.",
        () -> subject().register("{}"));
  }

  @Test
  void readsMessagesWithKnownIdsOnly() throws Exception {
    server.answer("GET /schemas/ids/1", "{'schemaType': 'JSON', 'schema': '{}'}");
    server.answer("GET /schemas/ids/2", "{'schema': '{}'}");
    server.answer("GET /schemas/ids/3", "{'schemaType': 'JSON', 'schema': 'oops'}");
    var texts = new RegisteredTexts(subject().registry());
    for (int i = 0; i < 2; i++)
      assertEquals("{}", new String(texts.reader().call(message(1)), StandardCharsets.UTF_8));
    assertNull(texts.reason().call(message(1)));
    for (int id : new int[] {2, 3, 4}) assertNull(texts.reader().call(message(id)));
    assertTrue(texts.reason().call(message(2)).contains("it is of the type AVRO"));
    assertTrue(texts.reason().call(message(3)).contains("cannot be used: it is not JSON"));
    assertTrue(texts.reason().call(message(4)).contains("no schema with the id 4"));
    assertEquals(WireFormat.NO_HEADER, texts.reason().call(new byte[] {'{', '}'}));
    assertEquals(1, server.requests().stream().filter("GET /schemas/ids/1"::equals).count());
  }

  private static byte[] message(int id) {
    byte[] message = Arrays.copyOf(WireFormat.header(id), WireFormat.HEADER_BYTES + 2);
    message[WireFormat.HEADER_BYTES] = '{';
    message[WireFormat.HEADER_BYTES + 1] = '}';
    return message;
  }
}
