package dev.jetsql.kafka.registry;

import java.io.Serializable;
import java.util.List;

/** Reads the schemas of one type. */
public interface SchemaReader<S> extends Serializable {
  /** A schema as the registry returns it. */
  record Document(String text, List<Reference> references) {}

  /**
   * A version of a subject that a schema refers to.
   *
   * @param name the name that the schema has for it
   */
  record Reference(String name, String subject, int version) {}

  /** Requests the schemas that a schema refers to. */
  interface Lookup {
    /**
     * Returns a schema. Throws IllegalArgumentException if the registry has none, or if there are
     * too many.
     */
    Document find(Reference reference);
  }

  SchemaType type();

  /**
   * Returns the schema in a document. Throws IllegalArgumentException, whose message is a clause
   * about the schema without a full stop, if it cannot be used.
   */
  S read(Document document, Lookup lookup);
}
