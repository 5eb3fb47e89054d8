package dev.jetsql.rewrites.bytime;

import dev.jetsql.versions.SparkCalls;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's evaluation of window functions, over the rows of one partition in memory. */
record FrameEvaluation(
    Seq<NamedExpression> functions,
    Seq<Expression> partitionBy,
    Seq<SortOrder> orderBy,
    Seq<Attribute> columns)
    implements Serializable {

  InterpretedOrdering order() {
    return new InterpretedOrdering(orderBy, columns);
  }

  int timeColumn() {
    var id = ((Attribute) orderBy.head().child()).exprId();
    return columns.indexWhere(column -> column.exprId().equals(id));
  }

  /** Returns the rows with the values of the functions; the next row overwrites a row. */
  Iterator<InternalRow> evaluate(Iterator<InternalRow> sorted) {
    var input = CollectionConverters.asScala(List.of(sorted)).toSeq();
    return SparkCalls.windows(functions, partitionBy, orderBy, columns)
        .createEvaluator()
        .eval(0, input);
  }
}
