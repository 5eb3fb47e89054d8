package dev.jetsql.kafka.registry;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.util.Locale;
import java.util.Map;

/** The subject of a table in a schema registry: the versions of the schema of its messages. */
public final class Subject<S> {
  private static final String LATEST = "latest";

  private final SchemaRegistry<S> registry;
  private final SchemaType type;
  private final String name;
  private final String version;

  private Subject(SchemaRegistry<S> registry, SchemaType type, String name, String version) {
    this.registry = registry;
    this.type = type;
    this.name = name;
    this.version = version;
  }

  /** Returns the subject of a table's values, or null without a registry. */
  public static <S> Subject<S> ofValues(Map<String, String> tableOptions, SchemaReader<S> reader) {
    SchemaRegistry<S> registry = RegistryOptions.registry(tableOptions, reader);
    if (registry == null) return null;
    SchemaType type = reader.type();
    String subject = RegistryOptions.get(tableOptions, type, RegistryOptions.SUBJECT);
    String version = RegistryOptions.get(tableOptions, type, RegistryOptions.VERSION);
    String name = subject != null ? subject : ofTopic(tableOptions, "-value");
    return new Subject<>(registry, type, name, version);
  }

  /** Returns the subject of a table's keys, or null without a registry. */
  public static <S> Subject<S> ofKeys(Map<String, String> tableOptions, SchemaReader<S> reader) {
    SchemaRegistry<S> registry = RegistryOptions.registry(tableOptions, reader);
    return registry == null
        ? null
        : new Subject<>(registry, reader.type(), ofTopic(tableOptions, "-key"), null);
  }

  private static String ofTopic(Map<String, String> tableOptions, String suffix) {
    for (Map.Entry<String, String> option : tableOptions.entrySet())
      if (option.getKey().toLowerCase(Locale.ROOT).equals("topic"))
        return option.getValue() + suffix;
    return null;
  }

  public SchemaRegistry<S> registry() {
    return registry;
  }

  /** Returns whether the table names a version to write with. */
  public boolean isPinned() {
    return version != null;
  }

  /**
   * Returns the pinned version, otherwise the newest, or null if the registry has none.
   *
   * @param condition the condition of the error if the registry refuses the request, or if its
   *     schema cannot be used
   */
  public SchemaRegistry.Registered<S> find(String condition) {
    if (name == null) return null;
    return registry.version(name, version == null ? LATEST : version, condition);
  }

  /** Returns the version to read columns from. Throws SOURCE_NOT_READY if there is none. */
  public S findColumns() {
    SchemaRegistry.Registered<S> found = find("SOURCE_NOT_READY");
    if (found != null) return found.schema();
    throw error(
        "SOURCE_NOT_READY",
        missing()
            + " Name the columns in CREATE TABLE, or set '"
            + option(RegistryOptions.SUBJECT)
            + "'.");
  }

  /** Returns the pinned version to write with. Throws SINK_NOT_READY if there is none. */
  public SchemaRegistry.Registered<S> findPinned() {
    SchemaRegistry.Registered<S> found = find("SINK_NOT_READY");
    if (found != null) return found;
    throw error(
        "SINK_NOT_READY",
        missing() + " Register it, or leave out '" + option(RegistryOptions.VERSION) + "'.");
  }

  /** Registers a schema and returns its id. Throws SINK_NOT_READY if the registry refuses it. */
  public int register(String schema) {
    return registry.register(name, schema);
  }

  /** Throws SINK_NOT_READY if the table has no name of a subject to write with. */
  public void checkName() {
    if (name != null) return;
    throw error(
        "SINK_NOT_READY",
        "A table without 'topic' needs '" + option(RegistryOptions.SUBJECT) + "'.");
  }

  /**
   * Throws the error of a schema that does not fit the columns to write.
   *
   * @param reason the predicate of the sentence, without a full stop
   */
  public RuntimeException notWritable(String reason) {
    throw error(
        "SINK_NOT_READY",
        (version == null || version.equals(LATEST)
                ? "The newest version"
                : "The version " + version)
            + " of the subject "
            + name
            + " "
            + reason
            + ". Create the table with the columns of this version.");
  }

  /**
   * Throws the error of a schema that the table cannot use.
   *
   * @param reason the rest of the sentence, without a full stop
   */
  public RuntimeException otherSchema(String condition, String reason) {
    throw error(
        condition, registry + " has a schema for the subject " + name + ", but " + reason + ".");
  }

  private String missing() {
    return registry
        + " has no "
        + (version == null || version.equals(LATEST) ? "version" : "version " + version)
        + " of the subject "
        + name
        + ".";
  }

  private String option(String option) {
    return RegistryOptions.option(type, option);
  }

  /** Throws an error with this condition. */
  public static RuntimeException error(String condition, String message) {
    return Exceptions.raise(JetSqlException.of(condition, "42501", message));
  }
}
