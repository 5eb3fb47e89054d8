package dev.jetsql.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import dev.jetsql.kafka.registry.JsonSchemas;
import dev.jetsql.kafka.registry.RegisteredTexts;
import dev.jetsql.kafka.registry.SchemaRegistry;
import dev.jetsql.kafka.registry.Subject;
import dev.jetsql.kafka.registry.WireFormat;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The subject of a table with JSON messages, and the header of the messages. */
final class JsonSubject {
  private final Subject<JsonNode> subject;

  private JsonSubject(Subject<JsonNode> subject) {
    this.subject = subject;
  }

  /** Returns the subject of a table's values, or null without a registry. */
  static JsonSubject ofValues(Map<String, String> tableOptions) {
    Subject<JsonNode> subject = Subject.ofValues(tableOptions, new JsonSchemas());
    return subject == null ? null : new JsonSubject(subject);
  }

  /** Returns the JSON of a message, or NULL if its schema is not in the registry. */
  Column body(Column bytes) {
    var texts = new RegisteredTexts(subject.registry());
    return functions.udf(texts.reader(), DataTypes.BinaryType).apply(bytes);
  }

  /** Returns why the schema of a message cannot be used, or NULL if it can. */
  Column reason(Column bytes) {
    var texts = new RegisteredTexts(subject.registry());
    return functions.udf(texts.reason(), DataTypes.StringType).apply(bytes);
  }

  /**
   * Returns the header of messages with the pinned version, or registers the schema of the columns.
   * Throws SINK_NOT_READY if the columns do not fit or the registry refuses them.
   */
  byte[] header(StructType columns) {
    subject.checkName();
    if (!subject.isPinned()) return WireFormat.header(subject.register(JsonSchemas.of(columns)));
    SchemaRegistry.Registered<JsonNode> found = subject.findPinned();
    String reason = JsonSchemas.whyUnfit(found.schema(), columns);
    if (reason != null) throw subject.notWritable(reason);
    return WireFormat.header(found.id());
  }
}
