package dev.jetsql.functions;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A function in Python that a user has created.
 *
 * @param schema the schema that it belongs to
 * @param name its name without the schema
 * @param parameters its parameters, in their order
 * @param type the type of its value, or the columns of a table function
 * @param isTable whether it is a table function
 * @param evalType Spark's number for the way in which a Python worker calls it
 * @param description the lines of DESCRIBE FUNCTION
 * @param extended the further lines of DESCRIBE FUNCTION EXTENDED
 */
record PythonFunction(
    String schema,
    String name,
    List<Parameter> parameters,
    DataType type,
    boolean isTable,
    int evalType,
    boolean isDeterministic,
    Stored code,
    List<String> description,
    List<String> extended) {

  /**
   * A parameter.
   *
   * @param defaultValue a SQL expression, or null
   */
  record Parameter(String name, DataType type, String defaultValue) {}

  /** The pickled function. Spark's plans contain it, so that a plan shows which function it has. */
  static final class Stored extends SimplePythonFunction {
    private static final long serialVersionUID = 1L;
    private final String schema;
    private final String name;
    private final String fingerprint;

    Stored(String schema, String name, String fingerprint, byte[] command, JsonNode worker) {
      super(
          command,
          texts(worker.get("environment")),
          List.of(),
          worker.get("executable").asText(),
          worker.get("version").asText(),
          List.of(),
          null);
      this.schema = schema;
      this.name = name;
      this.fingerprint = fingerprint;
    }

    /** Returns the name with its schema. */
    public String name() {
      return schema + "." + name;
    }

    /** Returns the parts of the qualified name. */
    List<String> qualifiedName() {
      return List.of(PythonFunctions.CATALOG, schema, name);
    }

    /** Returns a text that differs for functions that may return other values. */
    public String fingerprint() {
      return fingerprint;
    }

    /** Returns name and fingerprint, for messages. */
    String label() {
      return name() + "@" + fingerprint;
    }

    private static Map<String, String> texts(JsonNode object) {
      var texts = new HashMap<String, String>();
      object.properties().forEach(each -> texts.put(each.getKey(), each.getValue().asText()));
      return texts;
    }
  }

  static PythonFunction of(JsonNode facts, byte[] command) {
    var parameters = new ArrayList<Parameter>();
    for (var each : facts.get("parameters")) {
      var byDefault = each.get("default");
      parameters.add(
          new Parameter(
              each.get("name").asText(),
              DataType.fromDDL(each.get("type").asText()),
              byDefault.isNull() ? null : byDefault.asText()));
    }
    var isTable = facts.get("is_table").asBoolean();
    var schema = facts.get("schema").asText();
    var name = facts.get("name").asText();
    var type = facts.get("type").asText();
    return new PythonFunction(
        schema,
        name,
        List.copyOf(parameters),
        isTable ? StructType.fromDDL(type) : DataType.fromDDL(type),
        isTable,
        facts.get("eval_type").asInt(),
        facts.get("deterministic").asBoolean(),
        new Stored(schema, name, facts.get("fingerprint").asText(), command, facts.get("worker")),
        lines(facts.get("description")),
        lines(facts.get("extended")));
  }

  private static List<String> lines(JsonNode array) {
    var lines = new ArrayList<String>();
    array.forEach(line -> lines.add(line.asText()));
    return List.copyOf(lines);
  }

  /** Returns the name with catalog and schema. */
  String fullName() {
    return PythonFunctions.CATALOG + "." + schema + "." + name;
  }
}
