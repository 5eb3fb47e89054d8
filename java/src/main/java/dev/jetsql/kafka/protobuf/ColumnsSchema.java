package dev.jetsql.kafka.protobuf;

import java.util.Base64;
import java.util.List;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.DescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldDescriptorProto.Label;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.MessageOptions;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.OneofDescriptorProto;
import org.sparkproject.spark_core.protobuf.TimestampProto;

/**
 * The Protobuf schema of a table's columns, which a registry accepts as a descriptor in Base64.
 * Scalars are `optional`, so that NULL is not the default value.
 */
public final class ColumnsSchema {
  private static final String NAME = "[A-Za-z_][A-Za-z0-9_]*";
  private static final String DEFAULT_MESSAGE = "Value";
  private boolean hasTimestamp;

  private ColumnsSchema() {}

  /**
   * Returns the schema. Throws IllegalArgumentException, whose message is a sentence, if Protobuf
   * has no type for a column.
   *
   * @param message the message's full name; null for a default
   */
  public static String of(StructType columns, String message) {
    String full = message == null ? DEFAULT_MESSAGE : message;
    int dot = full.lastIndexOf('.');
    var schema = new ColumnsSchema();
    var file =
        FileDescriptorProto.newBuilder()
            .setName("table.proto")
            .setSyntax("proto3")
            .addMessageType(schema.message(full.substring(dot + 1), full, columns));
    if (dot > 0) file.setPackage(full.substring(0, dot));
    if (schema.hasTimestamp) file.addDependency(TimestampProto.getDescriptor().getName());
    return Base64.getEncoder().encodeToString(file.build().toByteArray());
  }

  private DescriptorProto message(String name, String full, StructType columns) {
    DescriptorProto.Builder message = DescriptorProto.newBuilder().setName(checked(name));
    for (StructField column : columns.fields()) {
      DataType type = column.dataType();
      if (type instanceof MapType map) {
        addMap(message, full, column.name(), map);
      } else if (type instanceof ArrayType array) {
        add(message, full, column.name(), array.elementType()).setLabel(Label.LABEL_REPEATED);
      } else {
        FieldDescriptorProto.Builder field = add(message, full, column.name(), type);
        if (field.getType() == FieldDescriptorProto.Type.TYPE_MESSAGE) continue;
        field.setProto3Optional(true).setOneofIndex(message.getOneofDeclCount());
        message.addOneofDecl(OneofDescriptorProto.newBuilder().setName(group(column, columns)));
      }
    }
    return message.build();
  }

  /** Returns the name of the group that an `optional` field forms, as protoc names it. */
  private static String group(StructField column, StructType columns) {
    String name = "_" + column.name();
    while (List.of(columns.fieldNames()).contains(name)) name = "X" + name;
    return name;
  }

  private FieldDescriptorProto.Builder add(
      DescriptorProto.Builder to, String full, String name, DataType type) {
    FieldDescriptorProto.Builder field =
        to.addFieldBuilder()
            .setName(checked(name))
            .setNumber(to.getFieldCount())
            .setLabel(Label.LABEL_OPTIONAL);
    if (type instanceof StructType struct) {
      String nested = "Type_" + name;
      to.addNestedType(message(nested, full + "." + nested, struct));
      return field
          .setType(FieldDescriptorProto.Type.TYPE_MESSAGE)
          .setTypeName("." + full + "." + nested);
    }
    if (type.equals(DataTypes.TimestampType)) {
      hasTimestamp = true;
      return field
          .setType(FieldDescriptorProto.Type.TYPE_MESSAGE)
          .setTypeName(".google.protobuf.Timestamp");
    }
    return field.setType(scalar(name, type));
  }

  private void addMap(DescriptorProto.Builder to, String full, String name, MapType map) {
    String entry = entryName(name);
    String entryType = full + "." + entry;
    DescriptorProto.Builder nested = DescriptorProto.newBuilder().setName(entry);
    if (!map.keyType().equals(DataTypes.BooleanType)
        && !map.keyType().equals(DataTypes.IntegerType)
        && !map.keyType().equals(DataTypes.LongType)
        && !(map.keyType() instanceof StringType)) throw unsupported(name, map);
    if (map.valueType() instanceof ArrayType || map.valueType() instanceof MapType)
      throw unsupported(name, map);
    add(nested, entryType, "key", map.keyType());
    add(nested, entryType, "value", map.valueType());
    nested.setOptions(MessageOptions.newBuilder().setMapEntry(true));
    // A message within an entry would not be valid Protobuf: it belongs to the outer message.
    if (nested.getNestedTypeCount() > 0) throw unsupported(name, map);
    to.addNestedType(nested);
    to.addFieldBuilder()
        .setName(checked(name))
        .setNumber(to.getFieldCount())
        .setLabel(Label.LABEL_REPEATED)
        .setType(FieldDescriptorProto.Type.TYPE_MESSAGE)
        .setTypeName("." + entryType);
  }

  /** Returns the name that Protobuf requires for the entries of a map: `a_b` has ABEntry. */
  private static String entryName(String field) {
    StringBuilder name = new StringBuilder();
    for (String word : field.split("_", -1)) {
      if (!word.isEmpty())
        name.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
    }
    return name + "Entry";
  }

  private static FieldDescriptorProto.Type scalar(String name, DataType type) {
    if (type instanceof StringType) return FieldDescriptorProto.Type.TYPE_STRING;
    if (type.equals(DataTypes.IntegerType)) return FieldDescriptorProto.Type.TYPE_INT32;
    if (type.equals(DataTypes.LongType)) return FieldDescriptorProto.Type.TYPE_INT64;
    if (type.equals(DataTypes.BooleanType)) return FieldDescriptorProto.Type.TYPE_BOOL;
    if (type.equals(DataTypes.FloatType)) return FieldDescriptorProto.Type.TYPE_FLOAT;
    if (type.equals(DataTypes.DoubleType)) return FieldDescriptorProto.Type.TYPE_DOUBLE;
    if (type.equals(DataTypes.BinaryType)) return FieldDescriptorProto.Type.TYPE_BYTES;
    if (type.equals(DataTypes.createDecimalType(20, 0)))
      return FieldDescriptorProto.Type.TYPE_UINT64;
    throw unsupported(name, type);
  }

  private static IllegalArgumentException unsupported(String name, DataType type) {
    return new IllegalArgumentException(
        "The column "
            + name
            + " ("
            + type.sql()
            + ") has no type in Protobuf. Use INT, BIGINT, BOOLEAN, FLOAT, DOUBLE, STRING, BINARY,"
            + " TIMESTAMP, DECIMAL(20,0), or STRUCT, ARRAY and MAP of them.");
  }

  private static String checked(String name) {
    if (name.matches(NAME)) return name;
    throw new IllegalArgumentException(
        "Protobuf cannot have the name "
            + name
            + ". Use letters, digits and '_' in the names of columns and in 'protobuf.message'.");
  }
}
