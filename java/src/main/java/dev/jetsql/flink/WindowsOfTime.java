package dev.jetsql.flink;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.NodeExpression;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.IndexedSeq;

/** The windows of a timestamp, an array of structs with the start and the end of each. */
public final class WindowsOfTime extends NodeExpression implements CodegenFallback {
  private static final long serialVersionUID = 1;

  /** The type of a window, as Spark's window() returns it. */
  static final StructType WINDOW =
      new StructType()
          .add("start", DataTypes.TimestampType, false)
          .add("end", DataTypes.TimestampType, false);

  private final Expression time;
  private final LocalWindows windows;

  /** Creates an expression. time: a timestamp that is not NULL */
  public WindowsOfTime(Expression time, LocalWindows windows) {
    super(Sequences.of(time), windows);
    this.time = time;
    this.windows = windows;
  }

  @Override
  public Object eval(InternalRow row) {
    var micros = time.eval(row);
    if (micros == null) return null;
    return new GenericArrayData(
        windows.of((Long) micros).stream()
            .map(each -> new GenericInternalRow(new Object[] {each.start(), each.end()}))
            .toArray());
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  @Override
  public DataType dataType() {
    return new ArrayType(WINDOW, false);
  }

  @Override
  public boolean nullable() {
    return time.nullable();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new WindowsOfTime(children.head(), windows);
  }

  @Override
  public String prettyName() {
    return "local_windows";
  }

  @Override
  public String sql() {
    return "local_windows(%s, %s, %d, %d, %d)"
        .formatted(time.sql(), windows.zone(), windows.size(), windows.slide(), windows.offset());
  }
}
