package dev.jetsql.kafka.protobuf;

import java.math.BigDecimal;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.ByteString;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.EnumValueDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.spark_core.protobuf.DynamicMessage;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;
import org.sparkproject.spark_core.protobuf.Message;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Reads messages of one type as rows. A column without a field is NULL, and a column can be wider
 * than its field, so that messages of several versions of a schema become rows of one table.
 */
final class MessageReader {
  private final Descriptor message;
  private final Field[] fields;

  /** Converts the value of a field that is present to the value of a column. */
  private interface Converter {
    Object convert(Object value);
  }

  /** A field of the message and its conversion. */
  private record Field(FieldDescriptor descriptor, Converter converter) {
    /** Returns the value of a column; NULL if the field can be absent and is. */
    Object value(Message from) {
      boolean isAbsent = descriptor.hasPresence() && !from.hasField(descriptor);
      return isAbsent ? null : converter.convert(from.getField(descriptor));
    }
  }

  /**
   * Creates a reader. Throws IllegalArgumentException, whose message is a clause without a full
   * stop, if a field does not fit its column.
   */
  MessageReader(Descriptor message, StructType columns) {
    this.message = message;
    this.fields =
        Arrays.stream(columns.fields())
            .map(column -> field(message, column.name(), column.dataType()))
            .toArray(Field[]::new);
  }

  /** Returns whether the message has a field for at least one column. */
  boolean hasAnyColumn() {
    return fields.length == 0 || Arrays.stream(fields).anyMatch(Objects::nonNull);
  }

  String name() {
    return message.getFullName();
  }

  /** Returns the message that begins at an offset as a row. */
  Row read(byte[] bytes, int offset) throws InvalidProtocolBufferException {
    DynamicMessage.Builder read = DynamicMessage.newBuilder(message);
    read.mergeFrom(bytes, offset, bytes.length - offset);
    if (!read.isInitialized())
      throw new InvalidProtocolBufferException("required fields are missing");
    return row(read.buildPartial());
  }

  private Row row(Message from) {
    Object[] values = new Object[fields.length];
    for (int i = 0; i < fields.length; i++)
      values[i] = fields[i] == null ? null : fields[i].value(from);
    return RowFactory.create(values);
  }

  /** Returns the field of a column, or null without one. */
  private static Field field(Descriptor message, String column, DataType type) {
    FieldDescriptor field = ProtobufSchema.field(message, column);
    if (field == null) return null;
    Converter converter =
        field.isMapField() ? map(field, type) : field.isRepeated() ? list(field, type) : null;
    return new Field(field, converter != null ? converter : element(field, type));
  }

  private static Converter map(FieldDescriptor field, DataType type) {
    if (!(type instanceof MapType map)) throw unfit(field, "a map", type);
    Descriptor entry = field.getMessageType();
    FieldDescriptor key = entry.findFieldByName("key");
    FieldDescriptor value = entry.findFieldByName("value");
    Converter keys = element(key, map.keyType());
    Converter values = element(value, map.valueType());
    return entries -> {
      Map<Object, Object> result = new LinkedHashMap<>();
      for (Object each : (List<?>) entries) {
        Message pair = (Message) each;
        result.put(keys.convert(pair.getField(key)), values.convert(pair.getField(value)));
      }
      return CollectionConverters.asScala(result);
    };
  }

  private static Converter list(FieldDescriptor field, DataType type) {
    if (!(type instanceof ArrayType array)) throw unfit(field, "repeated", type);
    Converter element = element(field, array.elementType());
    return elements -> {
      List<Object> result = new ArrayList<>();
      for (Object each : (List<?>) elements) result.add(element.convert(each));
      return CollectionConverters.asScala(result).toSeq();
    };
  }

  private static Converter element(FieldDescriptor field, DataType type) {
    if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) return message(field, type);
    DataType own = ProtobufSchema.elementType(field, new HashSet<>());
    Converter converter = scalar(field);
    boolean isText = own instanceof StringType && type instanceof StringType;
    if (isText || own.equals(type)) return converter;
    if (own.equals(DataTypes.IntegerType) && type.equals(DataTypes.LongType))
      return value -> ((Number) converter.convert(value)).longValue();
    if (own.equals(DataTypes.FloatType) && type.equals(DataTypes.DoubleType))
      return value -> ((Number) converter.convert(value)).doubleValue();
    throw unfit(field, own.sql(), type);
  }

  private static Converter scalar(FieldDescriptor field) {
    return switch (field.getType()) {
      case UINT32, FIXED32 -> value -> Integer.toUnsignedLong((Integer) value);
      case UINT64, FIXED64 -> value -> new BigDecimal(Long.toUnsignedString((Long) value));
      case ENUM -> value -> enumName((EnumValueDescriptor) value);
      case BYTES -> value -> ((ByteString) value).toByteArray();
      default -> value -> value;
    };
  }

  /** Returns the name of a value, or the number of a value that the descriptor does not know. */
  private static String enumName(EnumValueDescriptor value) {
    return value.getIndex() < 0 ? Integer.toString(value.getNumber()) : value.getName();
  }

  private static Converter message(FieldDescriptor field, DataType type) {
    Descriptor nested = field.getMessageType();
    List<FieldDescriptor> members = nested.getFields();
    if (ProtobufSchema.isTimestamp(nested)) {
      if (type.equals(DataTypes.TimestampType)) return value -> timestamp((Message) value, members);
      throw unfit(field, "TIMESTAMP", type);
    }
    if (ProtobufSchema.isWrapper(nested)) {
      Converter wrapped = element(members.get(0), type);
      return value -> wrapped.convert(((Message) value).getField(members.get(0)));
    }
    if (!(type instanceof StructType struct)) throw unfit(field, "a message", type);
    MessageReader reader = new MessageReader(nested, struct);
    return value -> reader.row((Message) value);
  }

  private static Timestamp timestamp(Message value, List<FieldDescriptor> members) {
    long seconds = (Long) value.getField(members.get(0));
    return Timestamp.from(Instant.ofEpochSecond(seconds, (Integer) value.getField(members.get(1))));
  }

  private static IllegalArgumentException unfit(FieldDescriptor field, String own, DataType type) {
    return new IllegalArgumentException(
        "the field " + field.getFullName() + " is " + own + ", and its column is " + type.sql());
  }
}
