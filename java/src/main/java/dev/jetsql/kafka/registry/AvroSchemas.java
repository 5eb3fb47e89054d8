package dev.jetsql.kafka.registry;

import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;

/** Reads Avro schemas. */
public final class AvroSchemas implements SchemaReader<Schema> {
  private static final long serialVersionUID = 1L;

  @Override
  public SchemaType type() {
    return SchemaType.AVRO;
  }

  @Override
  public Schema read(Document document, Lookup lookup) {
    try {
      Schema.Parser parser = new Schema.Parser().setValidateDefaults(false);
      parseReferences(document, parser, lookup);
      return parser.parse(document.text());
    } catch (AvroRuntimeException e) {
      throw new IllegalArgumentException("it is not valid: " + e.getMessage(), e);
    }
  }

  /** Adds the schemas that a schema refers to, and those that they refer to. */
  private static void parseReferences(Document document, Schema.Parser parser, Lookup lookup) {
    for (Reference reference : document.references()) {
      if (parser.getTypes().containsKey(reference.name())) continue;
      Document referenced = lookup.find(reference);
      parseReferences(referenced, parser, lookup);
      parser.parse(referenced.text());
    }
  }
}
