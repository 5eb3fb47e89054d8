package dev.jetsql.plans;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import scala.Function1;

/** Converts rows of one type between the form that Spark gives to users and its internal one. */
public final class RowConverter {
  private final Function1<Object, Object> toInternal;
  private final Function1<Object, Object> toExternal;
  private final UnsafeProjection toUnsafe;

  /** Creates a converter for rows of a type. */
  public RowConverter(StructType type) {
    toInternal = CatalystTypeConverters.createToCatalystConverter(type);
    toExternal = CatalystTypeConverters.createToScalaConverter(type);
    toUnsafe = UnsafeProjection.create(type);
  }

  /** Returns the internal form of a row. */
  public InternalRow internal(Row row) {
    return (InternalRow) toInternal.apply(row);
  }

  /** Returns the internal form of a row, in memory that the next call uses again. */
  public UnsafeRow unsafe(Row row) {
    return toUnsafe.apply(internal(row));
  }

  /** Returns the users' form of a row. */
  public Row external(InternalRow row) {
    return (Row) toExternal.apply(row);
  }
}
