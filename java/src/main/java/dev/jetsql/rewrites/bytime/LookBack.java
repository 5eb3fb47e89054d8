package dev.jetsql.rewrites.bytime;

import dev.jetsql.plans.Plans;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FrameLessOffsetWindowFunction;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import scala.collection.immutable.Seq;

/**
 * The rows that `lag(value, n) IGNORE NULLS` reads: the last ones with a value, however many rows
 * with NULL follow them.
 */
final class LookBack implements Serializable {
  private static final long serialVersionUID = 1;

  private final Expression value;
  private final int rows;
  private final Seq<Attribute> columns;
  private transient BasePredicate hasValue;

  private LookBack(Expression value, int rows, Seq<Attribute> columns) {
    this.value = value;
    this.rows = rows;
    this.columns = columns;
  }

  /**
   * Returns what those of window functions read that skip NULLs.
   *
   * @param columns the columns of the rows
   */
  static List<LookBack> of(List<NamedExpression> functions, Seq<Attribute> columns) {
    var all = new ArrayList<LookBack>();
    for (var function : functions) {
      if (!(((Expression) function).children().head() instanceof WindowExpression over)
          || !isUsed(over.windowFunction())) continue;
      var offset = (FrameLessOffsetWindowFunction) over.windowFunction();
      int rows = -((Number) offset.offset().eval(null)).intValue();
      if (rows == 0) continue; // the current row's value is taken, also if it is NULL
      var same = all.stream().filter(each -> each.value.semanticEquals(offset.input())).findFirst();
      same.ifPresent(all::remove);
      all.add(
          new LookBack(offset.input(), Math.max(rows, same.map(x -> x.rows).orElse(0)), columns));
    }
    return all;
  }

  /** Returns whether a window function is lag() or lead() with IGNORE NULLS. */
  static boolean isUsed(Expression function) {
    return function instanceof FrameLessOffsetWindowFunction offset && offset.ignoreNulls();
  }

  /**
   * Marks the rows that are read.
   *
   * @param sorted the rows of a key
   * @param isRead receives true for each of them; rows after its end are kept anyway
   */
  void mark(List<InternalRow> sorted, boolean[] isRead) {
    if (hasValue == null) {
      hasValue = Predicate$.MODULE$.create(new IsNotNull(value), columns);
      hasValue.initialize(0);
    }
    int missing = rows;
    for (int i = sorted.size() - 1; i >= 0 && missing > 0; i--) {
      if (!hasValue.eval(sorted.get(i))) continue;
      if (i < isRead.length) isRead[i] = true;
      missing--;
    }
  }

  /** Returns the rows in words. */
  String describe() {
    return "the last %d rows with a value of %s".formatted(rows, Plans.text(value));
  }
}
