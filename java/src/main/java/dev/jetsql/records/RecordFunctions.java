package dev.jetsql.records;

import dev.jetsql.common.Sequences;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ObjectType;

/** Columns that call a method with values of Spark's own classes, without their conversion. */
public final class RecordFunctions {
  private RecordFunctions() {}

  /**
   * Returns the column of a method's results; NULL for NULL.
   *
   * @param target a serializable object, which executors receive with each task
   * @param method the name of a public method with one argument
   * @param type the type of the results
   */
  public static Column call(Object target, String method, DataType type, Column argument) {
    return ExpressionUtils.column(
        new Invoke(
            new Literal(target, new ObjectType(target.getClass())),
            method,
            type,
            Sequences.of(ExpressionUtils.expression(argument)),
            Sequences.of(),
            true,
            true,
            true));
  }
}
