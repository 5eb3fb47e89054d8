package dev.jetsql.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.kafka.registry.SchemaType;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class KafkaOptionTest {
  private static final Set<String> KINDS =
      Set.of(
          "topic",
          "topics",
          "pattern",
          "assign",
          "offsets",
          "json",
          "choice",
          "count",
          "number",
          "servers",
          "error",
          "watermark",
          "avro-schema",
          "schema-id",
          "columns",
          "registry",
          "client",
          "refused",
          "text");

  @Test
  void namesAreDifferentAndKindsAreKnown() {
    var names =
        KafkaOption.ALL.stream().map(option -> option.name().toLowerCase(Locale.ROOT)).toList();
    assertEquals(names.size(), Set.copyOf(names).size());
    assertTrue(
        KINDS.containsAll(
            KafkaOption.ALL.stream().map(KafkaOption::kind).collect(Collectors.toSet())));
  }

  @Test
  void namesAreFoundInAnyCase() {
    assertEquals("startingOffsets", KafkaOption.of("STARTINGOFFSETS").name());
    assertNull(KafkaOption.of("starting"));
  }

  @Test
  void eachKindOfSchemaHasTheOptionsOfTheRegistry() {
    var names =
        List.of(
            RegistryOptions.URL,
            RegistryOptions.SUBJECT,
            RegistryOptions.VERSION,
            RegistryOptions.USER_INFO,
            RegistryOptions.TOKEN,
            RegistryOptions.TRUST_STORE,
            RegistryOptions.TRUST_PASSWORD);
    for (SchemaType type : SchemaType.values())
      for (String name : names)
        assertNotNull(KafkaOption.of(RegistryOptions.option(type, name)), type + " " + name);
  }

  @Test
  void optionsOfProtobufDefineTheTable() {
    for (String name : List.of(ProtobufFormat.FILE, ProtobufFormat.CONTENT, ProtobufFormat.MESSAGE))
      assertTrue(KafkaOption.of(name).isOfTable(), name);
  }
}
