package dev.jetsql.kafka.protobuf;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.StructType;
import org.sparkproject.spark_core.protobuf.ByteString;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.EnumValueDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.spark_core.protobuf.DynamicMessage;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;
import org.sparkproject.spark_core.protobuf.Message;
import scala.jdk.javaapi.CollectionConverters;

/** Converts between rows and Protobuf messages. Executors receive a copy with each task. */
public final class ProtobufRows implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String descriptor;
  private final String messageName;
  private final StructType columns;
  private transient Descriptor message;
  private transient MessageReader reader;

  /**
   * @param descriptor see `ProtobufSchema.of`
   * @param columns the columns of the rows; the message has a field for each
   */
  public ProtobufRows(String descriptor, String messageName, StructType columns) {
    this.descriptor = descriptor;
    this.messageName = messageName;
    this.columns = columns;
  }

  /** Returns the function that returns a message as a row, or NULL if it is not valid. */
  public UDF1<byte[], Row> reader() {
    return bytes -> {
      try {
        return bytes == null ? null : read(bytes);
      } catch (InvalidProtocolBufferException e) {
        return null; // `reason` reports it
      }
    };
  }

  /** Returns the function that returns why a message is not valid, or NULL if it is. */
  public UDF1<byte[], String> reason() {
    return bytes -> {
      try {
        if (bytes != null) read(bytes);
        return null;
      } catch (InvalidProtocolBufferException e) {
        String reason = "it is not a valid message of the type " + messageName;
        return bytes.length > 0 && bytes[0] == 0
            ? reason
                + " (it begins with a zero byte, as clients of a schema registry write it: set"
                + " 'protobuf.schema.registry.url' instead of a descriptor)"
            : reason;
      }
    };
  }

  /** Returns the function that returns a row as a message. */
  public UDF1<Row, byte[]> writer() {
    return this::write;
  }

  private synchronized Descriptor message() {
    if (message == null) message = ProtobufSchema.of(descriptor, messageName).message();
    return message;
  }

  private synchronized MessageReader messages() {
    if (reader == null) reader = new MessageReader(message(), columns);
    return reader;
  }

  Row read(byte[] bytes) throws InvalidProtocolBufferException {
    return messages().read(bytes, 0);
  }

  byte[] write(Row row) {
    List<FieldDescriptor> fields = new ArrayList<>();
    for (String column : columns.fieldNames()) fields.add(ProtobufSchema.field(message(), column));
    return build(row, message(), fields).toByteArray();
  }

  private static Message build(Row row, Descriptor type, List<FieldDescriptor> fields) {
    DynamicMessage.Builder builder = DynamicMessage.newBuilder(type);
    for (int i = 0; i < fields.size(); i++) {
      FieldDescriptor field = fields.get(i);
      if (!row.isNullAt(i)) set(builder, field, row.get(i));
      else if (field.isRequired()) throw unfit(field, "is required and cannot be NULL");
    }
    if (!builder.isInitialized()) {
      String missing = String.join(", ", builder.buildPartial().findInitializationErrors());
      throw error("The message " + type.getFullName() + " requires the fields " + missing + ".");
    }
    return builder.build();
  }

  private static void set(DynamicMessage.Builder to, FieldDescriptor field, Object value) {
    if (field.isMapField()) {
      Descriptor entry = field.getMessageType();
      var entries = CollectionConverters.asJava((scala.collection.Map<?, ?>) value);
      for (Map.Entry<?, ?> each : entries.entrySet()) {
        Row pair = RowFactory.create(each.getKey(), present(field, each.getValue()));
        to.addRepeatedField(field, build(pair, entry, entry.getFields()));
      }
    } else if (field.isRepeated()) {
      for (Object each : CollectionConverters.asJava((scala.collection.Seq<?>) value))
        to.addRepeatedField(field, encoded(field, present(field, each)));
    } else {
      to.setField(field, encoded(field, value));
    }
  }

  private static Object present(FieldDescriptor field, Object value) {
    if (value == null) throw unfit(field, "cannot contain NULL");
    return value;
  }

  private static Object encoded(FieldDescriptor field, Object value) {
    return switch (field.getType()) {
      case UINT32, FIXED32 -> unsigned(field, BigInteger.valueOf((Long) value), 32).intValue();
      case UINT64, FIXED64 -> unsigned(field, ((BigDecimal) value).toBigInteger(), 64).longValue();
      case ENUM -> enumValue(field, (String) value);
      case BYTES -> ByteString.copyFrom((byte[]) value);
      case MESSAGE, GROUP -> message(field.getMessageType(), value);
      default -> value;
    };
  }

  private static BigInteger unsigned(FieldDescriptor field, BigInteger value, int bits) {
    if (value.signum() >= 0 && value.bitLength() <= bits) return value;
    throw unfit(field, "cannot contain " + value + ": it has " + bits + " bits and no sign");
  }

  private static EnumValueDescriptor enumValue(FieldDescriptor field, String text) {
    EnumValueDescriptor value = field.getEnumType().findValueByName(text);
    if (value != null) return value;
    if (text.matches("-?[0-9]{1,9}") && !field.getEnumType().isClosed())
      return field.getEnumType().findValueByNumberCreatingIfUnknown(Integer.parseInt(text));
    List<String> names =
        field.getEnumType().getValues().stream().map(EnumValueDescriptor::getName).toList();
    throw unfit(field, "has no value '" + text + "'. Its values: " + String.join(", ", names));
  }

  private static Message message(Descriptor type, Object value) {
    List<FieldDescriptor> fields = type.getFields();
    if (ProtobufSchema.isTimestamp(type)) {
      Instant at = value instanceof Timestamp time ? time.toInstant() : (Instant) value;
      return build(RowFactory.create(at.getEpochSecond(), at.getNano()), type, fields);
    }
    if (ProtobufSchema.isWrapper(type)) return build(RowFactory.create(value), type, fields);
    return build((Row) value, type, fields);
  }

  private static RuntimeException unfit(FieldDescriptor field, String reason) {
    throw error("The field " + field.getFullName() + " " + reason + ".");
  }

  private static RuntimeException error(String message) {
    return Exceptions.raise(JetSqlException.of("INVALID_OPTION_VALUE", "22023", message));
  }
}
