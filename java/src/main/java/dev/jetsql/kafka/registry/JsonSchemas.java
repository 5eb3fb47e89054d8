package dev.jetsql.kafka.registry;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;

/** Reads JSON schemas, and makes the schema of a table's columns. */
public final class JsonSchemas implements SchemaReader<JsonNode> {
  private static final long serialVersionUID = 1L;
  private static final String DIALECT = "http://json-schema.org/draft-07/schema#";

  @Override
  public SchemaType type() {
    return SchemaType.JSON;
  }

  /** Returns the schema without those that it refers to. */
  @Override
  public JsonNode read(Document document, Lookup lookup) {
    try {
      return Json.MAPPER.readTree(document.text());
    } catch (IOException e) {
      throw new IllegalArgumentException("it is not JSON", e);
    }
  }

  /** Returns the schema of the objects that Spark writes for rows with these columns. */
  public static String of(StructType columns) {
    ObjectNode schema = Json.MAPPER.createObjectNode().put("$schema", DIALECT);
    schema.setAll(object(columns));
    return Json.write(schema);
  }

  private static ObjectNode object(StructType columns) {
    ObjectNode schema = Json.MAPPER.createObjectNode().put("type", "object");
    ObjectNode properties = schema.putObject("properties");
    for (StructField column : columns.fields())
      properties.set(column.name(), nullable(column.dataType()));
    return schema;
  }

  private static ObjectNode nullable(DataType type) {
    ObjectNode schema = schema(type);
    String name = name(type);
    if (name != null) schema.putArray("type").add(name).add("null");
    return schema;
  }

  private static ObjectNode schema(DataType type) {
    if (type instanceof StructType struct) return object(struct);
    ObjectNode schema = Json.MAPPER.createObjectNode();
    if (type instanceof ArrayType array) schema.set("items", nullable(array.elementType()));
    if (type instanceof MapType map) schema.set("additionalProperties", nullable(map.valueType()));
    return schema;
  }

  /** Returns the type of the values that Spark writes, or null if they can have any type. */
  private static String name(DataType type) {
    if (type instanceof StructType || type instanceof MapType) return "object";
    if (type instanceof ArrayType) return "array";
    if (type instanceof BooleanType) return "boolean";
    boolean isWhole =
        type instanceof ByteType
            || type instanceof ShortType
            || type instanceof IntegerType
            || type instanceof LongType;
    if (isWhole) return "integer";
    if (type instanceof NumericType) return "number";
    return type instanceof VariantType ? null : "string";
  }

  /**
   * Returns why objects with these columns do not fit a schema, as a predicate without a full stop,
   * or null if no reason is apparent.
   */
  public static String whyUnfit(JsonNode schema, StructType columns) {
    JsonNode type = schema.path("type");
    if (!allows(type, "object")) return "is for values of the type " + type + ", not for objects";
    for (JsonNode required : schema.path("required")) {
      String name = required.asText();
      if (!List.of(columns.fieldNames()).contains(name))
        return "requires the property " + name + ", for which there is no column";
    }
    JsonNode more = schema.path("additionalProperties");
    for (StructField column : columns.fields()) {
      JsonNode property = schema.path("properties").path(column.name());
      if (property.isMissingNode()) {
        boolean isClosed = more.isBoolean() && !more.asBoolean();
        if (isClosed && !schema.has("patternProperties"))
          return "has no property for the column " + column.name();
        continue;
      }
      String written = name(column.dataType());
      if (written == null || allows(property.path("type"), written)) continue;
      return "has the property "
          + column.name()
          + " with the type "
          + property.path("type")
          + ", and the column is "
          + column.dataType().sql();
    }
    return null;
  }

  /** Returns whether a schema's type, one name or several, allows values of a type. */
  private static boolean allows(JsonNode type, String written) {
    if (type.isMissingNode()) return true;
    if (type.isTextual())
      return type.asText().equals(written)
          || (type.asText().equals("number") && written.equals("integer"));
    for (JsonNode each : type) if (allows(each, written)) return true;
    return false;
  }
}
