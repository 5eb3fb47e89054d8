package dev.jetsql.kafka.protobuf;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorSet;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FileDescriptor;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;

/**
 * A type of Protobuf messages, read from the output of `protoc --descriptor_set_out` or from a
 * schema registry, and its columns.
 *
 * <p>Protobuf's own library, which Spark's distribution contains, reads the descriptors. Methods
 * throw IllegalArgumentException, whose message is a clause without a full stop.
 */
public final class ProtobufSchema {
  private static final long MAX_BYTES = 16 << 20;
  private static final String WELL_KNOWN = "google.protobuf.";
  private static final Set<String> WRAPPERS =
      Set.of(
          "DoubleValue",
          "FloatValue",
          "Int64Value",
          "UInt64Value",
          "Int32Value",
          "UInt32Value",
          "BoolValue",
          "StringValue",
          "BytesValue");

  private final Descriptor message;

  private ProtobufSchema(Descriptor message) {
    this.message = message;
  }

  /**
   * Returns the content of a descriptor file in Base64, with only what the message needs.
   *
   * @param message the message's full name, with the package
   */
  public static String read(String file, String message) {
    byte[] bytes;
    try {
      Path path = Path.of(file);
      if (Files.size(path) > MAX_BYTES)
        throw new IllegalArgumentException("the file is larger than 16 MiB");
      bytes = Files.readAllBytes(path);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "the file cannot be read (" + e.getClass().getSimpleName() + ")", e);
    }
    return of(bytes, message).content();
  }

  private static void add(FileDescriptor file, FileDescriptorSet.Builder to, Set<String> added) {
    if (!added.add(file.getName())) return;
    for (FileDescriptor imported : file.getDependencies()) add(imported, to, added);
    to.addFile(file.toProto().toBuilder().clearSourceCodeInfo());
  }

  /**
   * Returns a type of messages.
   *
   * @param descriptor a FileDescriptorSet in Base64
   * @param message the message's full name, with the package
   */
  public static ProtobufSchema of(String descriptor, String message) {
    return of(Base64.getDecoder().decode(descriptor), message);
  }

  private static ProtobufSchema of(byte[] descriptor, String message) {
    Map<String, FileDescriptorProto> files = new HashMap<>();
    try {
      for (FileDescriptorProto file : FileDescriptorSet.parseFrom(descriptor).getFileList())
        files.put(file.getName(), file);
    } catch (InvalidProtocolBufferException e) {
      throw notDescriptor(e);
    }
    if (files.isEmpty()) throw notDescriptor(null);
    var built = new DescriptorFiles(files, Map.of(), ". Call protoc with --include_imports");
    List<String> names = new ArrayList<>();
    for (String file : files.keySet().stream().sorted().toList()) {
      Descriptor found = find(built.build(file), message, names);
      if (found != null) return new ProtobufSchema(found);
    }
    throw unknown(message, names);
  }

  /**
   * Returns a type of the messages of a file.
   *
   * @param message the message's full name, with the package; null for the first message
   */
  public static ProtobufSchema of(FileDescriptor file, String message) {
    List<String> names = new ArrayList<>();
    Descriptor found = find(file, message, names);
    if (found != null) return new ProtobufSchema(found);
    if (names.isEmpty()) throw new IllegalArgumentException("it has no message");
    throw unknown(message, names);
  }

  private static IllegalArgumentException unknown(String message, List<String> names) {
    return new IllegalArgumentException(
        "it has no message " + message + ". Its messages: " + String.join(", ", names));
  }

  private static IllegalArgumentException notDescriptor(Exception cause) {
    return new IllegalArgumentException(
        "it is not a descriptor set. Write it with protoc --include_imports"
            + " --descriptor_set_out=FILE",
        cause);
  }

  private static Descriptor find(FileDescriptor file, String message, List<String> names) {
    for (Descriptor type : file.getMessageTypes()) {
      Descriptor found = find(type, message, names);
      if (found != null) return found;
    }
    return null;
  }

  private static Descriptor find(Descriptor type, String name, List<String> names) {
    if (type.getOptions().getMapEntry()) return null;
    names.add(type.getFullName());
    if (name == null || type.getFullName().equals(name)) return type;
    for (Descriptor nested : type.getNestedTypes()) {
      Descriptor found = find(nested, name, names);
      if (found != null) return found;
    }
    return null;
  }

  Descriptor message() {
    return message;
  }

  /** Returns the message's full name, with the package. */
  public String name() {
    return message.getFullName();
  }

  /** Returns the descriptors of the message in Base64, for `of`. */
  public String content() {
    FileDescriptorSet.Builder needed = FileDescriptorSet.newBuilder();
    add(message.getFile(), needed, new HashSet<>());
    return Base64.getEncoder().encodeToString(needed.build().toByteArray());
  }

  /** Returns the bytes between the schema's id and a message. */
  public byte[] indexes() {
    return MessageIndexes.encode(message);
  }

  /** Returns a column for each field of the message. */
  public StructType columns() {
    return struct(message, new HashSet<>());
  }

  /** Returns the reason why a column does not fit the message, as a sentence, or null. */
  public String whyUnfit(StructField column) {
    FieldDescriptor field = field(message, column.name());
    if (field == null) {
      return "The message "
          + message.getFullName()
          + " has no field for the column "
          + column.name()
          + ". Its fields: "
          + String.join(", ", message.getFields().stream().map(FieldDescriptor::getName).toList())
          + ".";
    }
    DataType type = type(field, new HashSet<>(Set.of(message.getFullName())));
    if (DataType.equalsIgnoreCaseAndNullability(type, column.dataType())) return null;
    return "The column "
        + column.name()
        + " is "
        + column.dataType().sql()
        + ", but the field "
        + field.getFullName()
        + " is "
        + type.sql()
        + ". Declare the column with this type.";
  }

  /** Returns the name of a required field without a column, or null if there is none. */
  public String requiredWithout(StructType columns) {
    for (FieldDescriptor field : message.getFields()) {
      boolean isColumn =
          List.of(columns.fieldNames()).stream().anyMatch(field.getName()::equalsIgnoreCase);
      if (field.isRequired() && !isColumn) return field.getName();
    }
    return null;
  }

  /** Returns the field with a name in any case, or null. */
  static FieldDescriptor field(Descriptor message, String name) {
    FieldDescriptor exact = message.findFieldByName(name);
    if (exact != null) return exact;
    for (FieldDescriptor field : message.getFields())
      if (field.getName().equalsIgnoreCase(name)) return field;
    return null;
  }

  private static StructType struct(Descriptor message, Set<String> open) {
    if (!open.add(message.getFullName())) {
      throw new IllegalArgumentException(
          "the message "
              + message.getFullName()
              + " contains itself, which columns cannot. Name the other columns in CREATE TABLE");
    }
    StructType columns = new StructType();
    for (FieldDescriptor field : message.getFields())
      columns = columns.add(field.getName(), type(field, open));
    open.remove(message.getFullName());
    return columns;
  }

  private static DataType type(FieldDescriptor field, Set<String> open) {
    if (field.isMapField()) {
      Descriptor entry = field.getMessageType();
      return DataTypes.createMapType(
          type(entry.findFieldByName("key"), open), type(entry.findFieldByName("value"), open));
    }
    DataType type = elementType(field, open);
    return field.isRepeated() ? DataTypes.createArrayType(type) : type;
  }

  static DataType elementType(FieldDescriptor field, Set<String> open) {
    return switch (field.getType()) {
      case INT32, SINT32, SFIXED32 -> DataTypes.IntegerType;
      case INT64, SINT64, SFIXED64, UINT32, FIXED32 -> DataTypes.LongType;
      case UINT64, FIXED64 -> DataTypes.createDecimalType(20, 0);
      case BOOL -> DataTypes.BooleanType;
      case FLOAT -> DataTypes.FloatType;
      case DOUBLE -> DataTypes.DoubleType;
      case STRING, ENUM -> DataTypes.StringType;
      case BYTES -> DataTypes.BinaryType;
      case MESSAGE, GROUP -> messageType(field.getMessageType(), open);
    };
  }

  private static DataType messageType(Descriptor type, Set<String> open) {
    if (isTimestamp(type)) return DataTypes.TimestampType;
    return isWrapper(type) ? elementType(type.findFieldByName("value"), open) : struct(type, open);
  }

  static boolean isTimestamp(Descriptor type) {
    return type.getFullName().equals(WELL_KNOWN + "Timestamp");
  }

  /** Returns whether a message contains one value, so that it can be absent. */
  static boolean isWrapper(Descriptor type) {
    String name = type.getFullName();
    return name.startsWith(WELL_KNOWN) && WRAPPERS.contains(name.substring(WELL_KNOWN.length()));
  }
}
