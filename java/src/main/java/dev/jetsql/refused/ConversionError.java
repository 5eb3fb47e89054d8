package dev.jetsql.refused;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.NodeExpression;
import java.util.List;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.IndexedSeq;

/**
 * The error of the conversion of a row: a struct of `sqlstate` and `message`, or NULL. Its child is
 * a struct of the columns.
 *
 * <p>The values are no children: Spark would evaluate a common part of them before, and the error
 * would end the query. They are evaluated by code of their own.
 */
public final class ConversionError extends NodeExpression {
  private static final long serialVersionUID = 1L;
  private static final String NO_VALUE = "NOT_NULL_ASSERT_VIOLATION";
  private static final StructType TYPE =
      new StructType()
          .add("sqlstate", DataTypes.StringType, false)
          .add("message", DataTypes.StringType, false);

  private final Expression row;
  private final List<Expression> values;
  private transient UnsafeProjection conversion;

  /** Creates it. values: expressions over the fields of the row */
  ConversionError(Expression row, List<Expression> values) {
    super(Sequences.of(row), values);
    this.row = row;
    this.values = List.copyOf(values);
  }

  @Override
  public Object eval(InternalRow input) {
    return error((InternalRow) row.eval(input));
  }

  /** Returns the error of a row, or null. Generated code calls it. */
  public InternalRow error(InternalRow row) {
    if (conversion == null)
      conversion = UnsafeProjection$.MODULE$.create(Sequences.of(List.copyOf(values)));
    try {
      conversion.apply(row);
      return null;
    } catch (Exception e) {
      if (!(e instanceof SparkThrowable known) || known.getSqlState() == null)
        throw Exceptions.raise(e);
      // Spark's message is about classes of Scala.
      if (NO_VALUE.equals(known.getCondition()))
        return error("23502", "NULL in a column that must have a value: " + column(known) + ".");
      return error(known.getSqlState(), e.getMessage());
    }
  }

  private static InternalRow error(String state, String message) {
    return new GenericInternalRow(
        new Object[] {UTF8String.fromString(state), UTF8String.fromString(message)});
  }

  private static String column(SparkThrowable error) {
    return error.getMessageParameters().getOrDefault("walkedTypePath", "").strip();
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    var error = context.addReferenceObj("conversion", this, ConversionError.class.getName());
    var given = row.genCode(context);
    var steps =
        "%s\nInternalRow %s = %s.error(%s);\nboolean %s = %s == null;\n"
            .formatted(
                given.code(), code.value(), error, given.value(), code.isNull(), code.value());
    var block = new CodeBlock(Sequences.of(steps), Sequences.<JavaCode>of());
    return code.copy(block, code.isNull(), code.value());
  }

  @Override
  public DataType dataType() {
    return TYPE;
  }

  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new ConversionError(children.apply(0), values);
  }

  @Override
  public String prettyName() {
    return "conversion_error";
  }
}
