package dev.jetsql.plans;

import dev.jetsql.common.Sequences;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.KnownFloatingPointNormalized;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.FractionalType;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.immutable.Seq;

/**
 * One form of the values of a key that Spark takes as equal. State finds a key by its bytes, and
 * 0.0 and -0.0 have different ones, as have the NaNs; also in structs and arrays.
 *
 * <p>Strings with a collation have no such form in the type of their column: state refuses them.
 */
public final class EqualKey implements Serializable {
  private static final long serialVersionUID = 1;

  private final DataType type;
  private transient Function1<Object, Object> toInternal;
  private transient Function1<Object, Object> toExternal;
  private transient UnsafeProjection projection;

  /** Creates the form of the values of a type in rows of users. */
  EqualKey(DataType type) {
    this.type = type;
  }

  /** Returns an expression whose equal values have equal bytes. Throws UnkeptType if none has. */
  public static Expression of(Expression key) {
    if (!UnsafeRowUtils.isBinaryStable(key.dataType())) throw StateTypes.unkept(key);
    return NormalizeFloatingNumbers$.MODULE$.normalize(key);
  }

  /**
   * Returns the expression of `of` without the mark by which Spark knows it again: the text is a
   * part of operators, by which jobs that earlier versions created recognize their state.
   */
  public static Expression unmarked(Expression key) {
    return of(key) instanceof KnownFloatingPointNormalized marked ? marked.child() : of(key);
  }

  /** Throws UnkeptType for a key whose equal values can have different bytes. */
  public static void checkOneForm(Expression key) {
    if (hasSeveralForms(key.dataType())) throw StateTypes.unkept(key);
  }

  /** Returns whether equal values of one of the keys can have different bytes. */
  public static boolean hasSeveralForms(Seq<? extends Expression> keys) {
    return keys.exists(key -> hasSeveralForms(key.dataType()));
  }

  /** Returns whether equal structs or arrays of one of the keys can have different bytes. */
  public static boolean areNested(List<? extends Expression> keys) {
    return keys.stream()
        .map(Expression::dataType)
        .anyMatch(type -> !(type instanceof FractionalType) && hasSeveralForms(type));
  }

  private static boolean hasSeveralForms(DataType type) {
    return NormalizeFloatingNumbers$.MODULE$.needNormalize(type);
  }

  DataType columnType() {
    return type;
  }

  /** Returns the type of the form. Spark cannot read keys with arrays: their form is bytes. */
  DataType type() {
    return hasArray(type) ? DataTypes.BinaryType : type;
  }

  private static boolean hasArray(DataType type) {
    if (type instanceof StructType struct)
      return List.of(struct.fields()).stream().anyMatch(field -> hasArray(field.dataType()));
    return type instanceof ArrayType;
  }

  /** Returns the form of a value. */
  Object of(Object value) {
    var isBytes = hasArray(type);
    if (value == null || (!isBytes && !hasSeveralForms(type))) return value;
    if (projection == null) open();
    var row = new GenericInternalRow(new Object[] {toInternal.apply(value)});
    var normalized = projection.apply(row);
    return isBytes ? normalized.getBytes() : toExternal.apply(normalized.get(0, type));
  }

  private void open() {
    toInternal = CatalystTypeConverters.createToCatalystConverter(type);
    toExternal = CatalystTypeConverters.createToScalaConverter(type);
    projection = UnsafeProjection.create(Sequences.of(of(new BoundReference(0, type, true))));
  }
}
