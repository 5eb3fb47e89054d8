package dev.jetsql.kafka.protobuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.JetSqlException;
import dev.jetsql.kafka.registry.RegistryOptions;
import dev.jetsql.kafka.registry.RegistryServer;
import dev.jetsql.kafka.registry.SchemaReader.Document;
import dev.jetsql.kafka.registry.SchemaReader.Reference;
import dev.jetsql.kafka.registry.SchemaRegistry;
import dev.jetsql.kafka.registry.SchemaType;
import dev.jetsql.kafka.registry.WireFormat;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.DescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.Descriptors.FileDescriptor;

class RegisteredMessagesTest {
  private static final ProtobufSchemas SCHEMAS = new ProtobufSchemas();

  /** Returns a file with the messages A, B with the nested B.C, and D. */
  private static FileDescriptorProto.Builder file() {
    var nested = DescriptorProto.newBuilder().setName("C").addField(field("id", 1, "INT64"));
    return FileDescriptorProto.newBuilder()
        .setName("default")
        .setSyntax("proto3")
        .setPackage("p")
        .addMessageType(DescriptorProto.newBuilder().setName("A").addField(field("id", 1, "INT32")))
        .addMessageType(DescriptorProto.newBuilder().setName("B").addNestedType(nested))
        .addMessageType(DescriptorProto.newBuilder().setName("D"));
  }

  private static FieldDescriptorProto.Builder field(String name, int number, String type) {
    return FieldDescriptorProto.newBuilder()
        .setName(name)
        .setNumber(number)
        .setType(FieldDescriptorProto.Type.valueOf("TYPE_" + type));
  }

  private static String text(FileDescriptorProto.Builder file) {
    return Base64.getEncoder().encodeToString(file.build().toByteArray());
  }

  private static FileDescriptor read(String text) {
    return SCHEMAS.read(
        new Document(text, List.of()),
        reference -> {
          throw new IllegalArgumentException("no references");
        });
  }

  @ParameterizedTest
  @CsvSource({"p.A, '0'", "p.B, '2 2'", "p.B.C, '4 2 0'", "p.D, '2 4'"})
  void writesAndFindsTheIndexOfAMessage(String name, String expected) {
    FileDescriptor file = read(text(file()));
    byte[] bytes = ProtobufSchema.of(file, name).indexes();
    StringBuilder written = new StringBuilder();
    for (byte each : bytes) written.append(written.length() == 0 ? "" : " ").append(each);
    assertEquals(expected, written.toString());
    byte[] message = new byte[bytes.length + 2];
    System.arraycopy(bytes, 0, message, 1, bytes.length);
    MessageIndexes found = MessageIndexes.read(message, 1);
    assertEquals(name, found.find(file).getFullName());
    assertEquals(bytes.length + 1, found.end());
  }

  @Test
  void readsTheLongFormOfTheFirstMessage() {
    MessageIndexes found = MessageIndexes.read(new byte[] {2, 0, 8}, 0);
    assertEquals(new MessageIndexes(List.of(0), 2), found);
  }

  @Test
  void findsNoMessageAtOtherIndexes() {
    FileDescriptor file = read(text(file()));
    for (List<Integer> indexes : List.of(List.of(3), List.of(-1), List.of(0, 0), List.of(1, 1)))
      assertNull(new MessageIndexes(indexes, 0).find(file));
  }

  @Test
  void refusesTruncatedIndexes() {
    byte[] endless = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    byte[][] all = {{}, {2}, {4, 2}, {1}, {-128}, {-2, -1, -1, -1, 15}, endless};
    for (byte[] bytes : all) assertNull(MessageIndexes.read(bytes, 0));
  }

  @Test
  void readsReferencesAndKnownFiles() {
    var imported = file().setName("any name");
    var main =
        FileDescriptorProto.newBuilder()
            .setSyntax("proto3")
            .addDependency("confluent/meta.proto")
            .addDependency("google/protobuf/timestamp.proto")
            .addDependency("other.proto")
            .addPublicDependency(2)
            .addMessageType(
                DescriptorProto.newBuilder()
                    .setName("M")
                    .addField(field("at", 1, "MESSAGE").setTypeName(".google.protobuf.Timestamp"))
                    .addField(field("a", 2, "MESSAGE").setTypeName(".p.A")));
    var reference = new Reference("other.proto", "other", 3);
    FileDescriptor file =
        SCHEMAS.read(
            new Document(text(main), List.of(reference)),
            asked -> Map.of(reference, new Document(text(imported), List.of())).get(asked));
    ProtobufSchema schema = ProtobufSchema.of(file, null);
    assertEquals(StructType.fromDDL("at TIMESTAMP, a STRUCT<id: INT>"), schema.columns());
    assertEquals(schema.columns(), ProtobufSchema.of(schema.content(), "M").columns());
    var error = assertThrows(IllegalArgumentException.class, () -> read(text(main)));
    assertTrue(error.getMessage().contains("the imported file other.proto. Register it"));
  }

  @Test
  void refusesTheSourceOfAFile() {
    var error = assertThrows(IllegalArgumentException.class, () -> read("syntax = \"proto3\";"));
    assertTrue(error.getMessage().contains("?format=serialized"));
  }

  @Test
  void makesASchemaOfColumns() {
    String columns =
        "id BIGINT, _id INT, text STRING, ok BOOLEAN, f FLOAT, d DOUBLE, b BINARY, at TIMESTAMP,"
            + " big DECIMAL(20,0), line STRUCT<a: INT, more: STRUCT<b: ARRAY<STRING>>>,"
            + " tags ARRAY<STRING>, lines ARRAY<STRUCT<a: INT>>, my_stock MAP<STRING, INT>";
    StructType type = StructType.fromDDL(columns);
    ProtobufSchema schema = ProtobufSchema.of(read(ColumnsSchema.of(type, "shop.Order")), null);
    assertEquals("shop.Order", schema.name());
    for (var column : type.fields()) assertNull(schema.whyUnfit(column));
    assertArrayEquals(new byte[1], schema.indexes());
    assertEquals("Value", ProtobufSchema.of(read(ColumnsSchema.of(type, null)), null).name());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "n SMALLINT|The column n (SMALLINT) has no type in Protobuf. Use INT",
        "m MAP<STRING, ARRAY<INT>>|The column m (MAP<STRING, ARRAY<INT>>) has no type",
        "a ARRAY<ARRAY<INT>>|has no type in Protobuf",
        "`a b` INT|Protobuf cannot have the name a b. Use letters"
      })
  void refusesColumnsWithoutATypeInProtobuf(String columns, String expected) {
    StructType type = StructType.fromDDL(columns);
    var error =
        assertThrows(IllegalArgumentException.class, () -> ColumnsSchema.of(type, "shop.Order"));
    assertTrue(error.getMessage().contains(expected), error.getMessage());
  }

  @Test
  void readsOtherVersionsOfAMessage() throws Exception {
    FileDescriptor file = read(text(file()));
    StructType columns = StructType.fromDDL("ID BIGINT, more STRING");
    var reader = new MessageReader(file.findMessageTypeByName("A"), columns);
    assertEquals(RowFactory.create(5L, null), reader.read(new byte[] {9, 8, 5}, 1));
    assertTrue(reader.hasAnyColumn());
    var error =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                new MessageReader(
                    file.findMessageTypeByName("A"), StructType.fromDDL("id STRING")));
    assertEquals("the field p.A.id is INT, and its column is STRING", error.getMessage());
  }

  @Test
  void readsMessagesByTheirSchema() throws Exception {
    try (var server = new RegistryServer()) {
      server.answer(
          "GET /schemas/ids/1?format=serialized",
          "{'schemaType': 'PROTOBUF', 'schema': '" + text(file()) + "'}");
      server.answer("GET /schemas/ids/2?format=serialized", "{'schema': '{}'}");
      server.answer("GET /schemas/ids/4?format=serialized", 501, "{'message': 'no such format'}");
      server.answer("GET /schemas/ids/4", "{'schema': '{}'}");
      server.answer("GET /schemas/ids/5?format=serialized", 503, "{'message': 'too many'}");
      server.answer("GET /schemas/ids/5", "{'schemaType': 'PROTOBUF', 'schema': 'syntax'}");
      SchemaRegistry<FileDescriptor> registry =
          RegistryOptions.registry(server.options(SchemaType.PROTOBUF), SCHEMAS);
      StructType columns = StructType.fromDDL("id BIGINT");
      var first = new RegisteredMessages(registry, null, columns);
      assertEquals(RowFactory.create(5L), first.reader().call(bytes(1, 0, 8, 5)));
      assertEquals(RowFactory.create(0L), first.reader().call(bytes(1, 2, 0)));
      var nested = new RegisteredMessages(registry, "p.B.C", columns);
      assertEquals(RowFactory.create(5L), nested.reader().call(bytes(1, 4, 2, 0, 8, 5)));
      assertReason("and not p.B.C", nested, bytes(1, 0, 8, 5));
      assertReason("and not the first message of its schema", first, bytes(1, 2, 2));
      assertReason("has no message with the index [3]", first, bytes(1, 2, 6));
      assertReason("it ends within the index of its type", first, bytes(1));
      assertReason("not a valid message of the type p.A", first, bytes(1, 0, 8));
      assertReason("not a valid message of the type p.A", first, bytes(1, 0, 12));
      assertReason("it is of the type AVRO", first, bytes(2, 0));
      assertReason("no schema with the id 3", first, bytes(3, 0));
      assertReason("it is of the type AVRO", first, bytes(4, 0));
      var error = assertThrows(JetSqlException.class, () -> first.reader().call(bytes(5, 0)));
      assertTrue(error.getMessage().contains("answers with the status 503: too many."));
      assertReason("does not begin with a zero byte", first, new byte[] {8, 5});
      var other = new RegisteredMessages(registry, null, StructType.fromDDL("nr BIGINT"));
      assertReason("has no field for any of the columns", other, bytes(1, 0, 8, 5));
      var text = new RegisteredMessages(registry, null, StructType.fromDDL("id STRING"));
      assertReason("the field p.A.id is INT", text, bytes(1, 0, 8, 5));
    }
  }

  private static void assertReason(String expected, RegisteredMessages messages, byte[] bytes)
      throws Exception {
    assertNull(messages.reader().call(bytes));
    String reason = messages.reason().call(bytes);
    assertTrue(reason.contains(expected), reason);
  }

  /** Returns a message: the header with an id, then bytes. */
  private static byte[] bytes(int id, int... rest) {
    byte[] message = Arrays.copyOf(WireFormat.header(id), WireFormat.HEADER_BYTES + rest.length);
    for (int i = 0; i < rest.length; i++) message[WireFormat.HEADER_BYTES + i] = (byte) rest[i];
    return message;
  }
}
