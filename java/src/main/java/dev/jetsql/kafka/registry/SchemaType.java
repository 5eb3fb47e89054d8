package dev.jetsql.kafka.registry;

/** The types of schemas that JetSQL reads from a registry. */
public enum SchemaType {
  AVRO("avro"),
  PROTOBUF("protobuf"),
  JSON("json");

  private final String format;

  SchemaType(String format) {
    this.format = format;
  }

  /** Returns the format of the messages, with which the options of a table begin. */
  public String format() {
    return format;
  }
}
