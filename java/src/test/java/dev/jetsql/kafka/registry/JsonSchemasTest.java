package dev.jetsql.kafka.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.common.Json;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonSchemasTest {
  private static JsonNode json(String text) throws Exception {
    return Json.MAPPER.readTree(text.replace('\'', '"'));
  }

  @Test
  void makesASchemaOfColumns() throws Exception {
    StructType columns =
        StructType.fromDDL(
            "id BIGINT, d DECIMAL(9,2), t STRUCT<at: TIMESTAMP>, l ARRAY<BOOLEAN>, m MAP<STRING,"
                + " DOUBLE>, v VARIANT");
    String expected =
        """
        {'$schema': 'http://json-schema.org/draft-07/schema#', 'type': 'object', 'properties': {
          'id': {'type': ['integer', 'null']},
          'd': {'type': ['number', 'null']},
          't': {'type': ['object', 'null'], 'properties': {'at': {'type': ['string', 'null']}}},
          'l': {'items': {'type': ['boolean', 'null']}, 'type': ['array', 'null']},
          'm': {'additionalProperties': {'type': ['number', 'null']}, 'type': ['object', 'null']},
          'v': {}}}
        """;
    assertEquals(json(expected), json(JsonSchemas.of(columns)));
    assertNull(JsonSchemas.whyUnfit(json(JsonSchemas.of(columns)), columns));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '#',
      value = {
        "{'type': 'array'}|is for values of the type \"array\", not for objects",
        "{'required': ['text']}|requires the property text, for which there is no column",
        "{'additionalProperties': false}|has no property for the column id",
        "{'properties': {'id': {'type': ['string', 'null']}}}"
            + "|has the property id with the type [\"string\",\"null\"], and the column is BIGINT",
        "{}|",
        "{'properties': {'id': {'type': 'number'}}, 'additionalProperties': false}|",
        "{'properties': {'id': {'oneOf': []}}, 'required': ['id']}|"
      })
  void comparesAPinnedSchemaWithColumns(String schema, String expected) throws Exception {
    assertEquals(expected, JsonSchemas.whyUnfit(json(schema), StructType.fromDDL("id BIGINT")));
  }
}
