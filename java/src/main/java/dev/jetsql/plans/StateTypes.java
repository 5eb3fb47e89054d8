package dev.jetsql.plans;

import java.util.List;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.avro.IncompatibleSchemaException;
import org.apache.spark.sql.avro.SchemaConverters$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/**
 * The types of the rows that operators keep. Spark derives a schema of Avro from each of them, also
 * if it keeps the rows in another format. This schema lacks some types, and its names are letters
 * and digits that no two structs share.
 */
public final class StateTypes {
  private int names;

  private StateTypes() {}

  /**
   * Returns the encoder of rows for a state. The fields of structs get other names, by which no
   * operator reads them.
   *
   * @param type the columns, which have names that Avro knows
   */
  public static Encoder<Row> encoder(StructType type) {
    return Encoders.row(new StateTypes().withPlainFields(type));
  }

  /** The type of a value that a state cannot keep. */
  public static final class UnkeptType extends RuntimeException {
    private static final long serialVersionUID = 1;

    private UnkeptType(String value, DataType type) {
      super("%s has the type %s, which the state cannot keep.".formatted(value, type.sql()));
    }
  }

  /**
   * Throws UnkeptType if a state cannot keep rows.
   *
   * @param type the columns of the rows
   * @param expressions what the rows are computed from, by which the message names a value
   */
  static void check(StructType type, List<Expression> expressions) {
    for (var field : type.fields()) {
      if (canKeep(field.dataType())) continue;
      for (var each : expressions) if (!canKeep(each.dataType())) throw unkept(each);
      throw new UnkeptType("A value of the state", field.dataType());
    }
  }

  /**
   * Throws UnkeptType if a state cannot have keys of some types. Maps have no order, and equal ones
   * have several forms.
   *
   * @param expressions see `check`
   */
  static void checkKeys(List<DataType> keys, List<Expression> expressions) {
    for (var type : keys) {
      check(new StructType().add("key", type), expressions);
      if (!type.existsRecursively(MapType.class::isInstance)) continue;
      for (var each : expressions) if (each.dataType().equals(type)) throw unkept(each);
      throw new UnkeptType("A key", type);
    }
  }

  static UnkeptType unkept(Expression value) {
    return new UnkeptType(Plans.text(value), value.dataType());
  }

  private static boolean canKeep(DataType type) {
    var row = new StateTypes().withPlainFields(new StructType().add("value", type));
    try {
      SchemaConverters$.MODULE$.toAvroTypeWithDefaults(row);
      return true;
    } catch (Exception e) { // a Scala method declares no checked exception
      if (e instanceof IncompatibleSchemaException) return false;
      throw e;
    }
  }

  private StructType withPlainFields(StructType row) {
    var result = new StructType();
    for (var field : row.fields())
      result = result.add(field.name(), plain(field.dataType()), field.nullable());
    return result;
  }

  private DataType plain(DataType type) {
    if (type instanceof ArrayType array)
      return new ArrayType(plain(array.elementType()), array.containsNull());
    if (type instanceof MapType map)
      return new MapType(plain(map.keyType()), plain(map.valueType()), map.valueContainsNull());
    if (!(type instanceof StructType struct)) return type;
    var result = new StructType();
    for (var field : struct.fields())
      result = result.add("f" + names++, plain(field.dataType()), field.nullable());
    return result;
  }
}
