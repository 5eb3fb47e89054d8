package dev.jetsql.kafka.protobuf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Base64;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.DescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorSet;

class ProtobufRowsTest {
  private static final StructType COLUMNS =
      new StructType().add("id", DataTypes.LongType).add("small", DataTypes.LongType);

  private static String descriptor(String imported) {
    var message =
        DescriptorProto.newBuilder()
            .setName("M")
            .addField(field("id", 1, FieldDescriptorProto.Type.TYPE_INT64))
            .addField(field("small", 2, FieldDescriptorProto.Type.TYPE_UINT32));
    var file =
        FileDescriptorProto.newBuilder()
            .setName("m.proto")
            .setSyntax("proto3")
            .addMessageType(message);
    if (imported != null) file.addDependency(imported);
    byte[] bytes = FileDescriptorSet.newBuilder().addFile(file).build().toByteArray();
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static FieldDescriptorProto.Builder field(
      String name, int number, FieldDescriptorProto.Type type) {
    return FieldDescriptorProto.newBuilder().setName(name).setNumber(number).setType(type);
  }

  @Test
  void returnsTheRowThatItWrote() throws Exception {
    var rows = new ProtobufRows(descriptor(null), "M", COLUMNS);
    Row row = RowFactory.create(-5L, 4294967295L);
    assertEquals(row, rows.reader().call(rows.writer().call(row)));
    assertEquals(RowFactory.create(0L, 0L), rows.reader().call(new byte[0]));
    assertEquals(COLUMNS, ProtobufSchema.of(descriptor(null), "M").columns());
  }

  @Test
  void returnsNullAndTheReasonForOtherBytes() throws Exception {
    var rows = new ProtobufRows(descriptor(null), "M", COLUMNS);
    byte[] broken = {8};
    assertNull(rows.reader().call(broken));
    assertNotNull(rows.reason().call(broken));
    assertTrue(rows.reason().call(new byte[] {0, 0}).contains("schema registry"));
    assertNull(rows.reason().call(new byte[] {8, 1}));
    assertNull(rows.reader().call(null));
  }

  @Test
  void refusesValuesThatDoNotFit() {
    var rows = new ProtobufRows(descriptor(null), "M", COLUMNS);
    for (long value : new long[] {-1, 1L << 32}) {
      var error =
          assertThrows(Exception.class, () -> rows.writer().call(RowFactory.create(1L, value)));
      assertTrue(error.getMessage().contains("M.small cannot contain " + value));
    }
  }

  @Test
  void refusesDescriptorsWithoutTheirImports() {
    var error =
        assertThrows(
            IllegalArgumentException.class, () -> ProtobufSchema.of(descriptor("x.proto"), "M"));
    assertTrue(error.getMessage().contains("--include_imports"));
    assertThrows(IllegalArgumentException.class, () -> ProtobufSchema.of("", "M"));
  }
}
