package dev.jetsql.rewrites.changes;

import dev.jetsql.plans.RuleProcessor;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Joins the changes of two sides that have a key, and returns the changes of the result. It keeps
 * the rows of both sides.
 *
 * <p>Its rows have the columns of the key, the sign, and a struct for the row of each side, of
 * which one is NULL. Rows with NULL in the key have no match, and are not kept.
 */
final class JoinChangesProcessor extends RuleProcessor {
  private static final long serialVersionUID = 1;

  private final JoinShape shape;
  private final String words;
  private final int keyCount;
  private final StructType leftType;
  private final StructType rightType;
  private final Expression condition;
  private final Seq<Attribute> columns;
  private transient JoinSide left;
  private transient JoinSide right;
  private transient BasePredicate matches;
  private transient JoinedRow pair;
  private transient List<Row> results;

  /**
   * Creates a processor.
   *
   * @param words the key, in words
   * @param keyCount the number of its columns
   * @param leftType the columns of the left side
   * @param rightType the columns of the right side
   * @param condition what holds for rows that match, in addition to equal keys
   * @param columns the columns of both sides
   * @param expressions what the state depends on
   */
  JoinChangesProcessor(
      JoinShape shape,
      String words,
      int keyCount,
      StructType leftType,
      StructType rightType,
      Expression condition,
      Seq<Attribute> columns,
      List<? extends Expression> expressions) {
    super(expressions, List.of(leftType, rightType));
    this.shape = shape;
    this.words = words;
    this.keyCount = keyCount;
    this.leftType = leftType;
    this.rightType = rightType;
    this.condition = condition;
    this.columns = columns;
  }

  @Override
  public String state() {
    return "the rows of both sides; " + shape.kind();
  }

  @Override
  public String keptForEver() {
    return "all rows of both sides of the join on " + words;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    left = new JoinSide(getHandle(), "left", leftType, shape.countsMatchesOfLeft());
    right = new JoinSide(getHandle(), "right", rightType, shape.returnsUnmatchedRight());
    matches = Predicate$.MODULE$.create(condition, columns);
    pair = new JoinedRow();
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    results = new ArrayList<>();
    while (rows.hasNext()) {
      var row = rows.next();
      int sign = row.getInt(keyCount);
      var isLeft = !row.isNullAt(keyCount + 1);
      var values = row.getStruct(isLeft ? keyCount + 1 : keyCount + 2);
      if (hasNoMatch(row)) addUnmatched(values, isLeft, sign);
      else (isLeft ? left : right).add(values, sign);
    }
    match();
    left.store(
        entry -> {
          if (shape.returnsMatchedLeft()) add(entry.row, null, entry.matchedChange());
          if (shape.returnsUnmatchedLeft()) add(entry.row, null, entry.unmatchedChange());
        });
    right.store(
        entry -> {
          if (shape.returnsUnmatchedRight()) add(null, entry.row, entry.unmatchedChange());
        });
    return CollectionConverters.asScala(results.iterator());
  }

  private boolean hasNoMatch(Row row) {
    for (int i = 0; i < keyCount; i++) if (row.isNullAt(i)) return true;
    return false;
  }

  private void addUnmatched(Row row, boolean isLeft, int sign) {
    if (isLeft && shape.returnsUnmatchedLeft()) add(row, null, sign);
    if (!isLeft && shape.returnsUnmatchedRight()) add(null, row, sign);
  }

  /**
   * Adds the changes of the pairs, and counts the matches: the changes of the right side meet the
   * rows of the left side before the batch, those of the left side the rows after it.
   */
  private void match() {
    var ofLeft = left.changes();
    var ofRight = right.changes();
    if (!ofRight.isEmpty()) {
      left.forEachStored(
          each -> {
            for (var change : ofRight) {
              if (!isMatch(each, change)) continue;
              addPair(each, change, each.before * change.change());
              left.addMatches(each, change.change());
              if (change.isNew()) right.addMatches(change, each.before);
            }
          });
    }
    if (ofLeft.isEmpty()) return;
    right.forEachStored(each -> matchLeft(ofLeft, each));
    for (var each : ofRight) if (each.isNew()) matchLeft(ofLeft, each);
  }

  private void matchLeft(List<JoinSide.Entry> ofLeft, JoinSide.Entry each) {
    for (var change : ofLeft) {
      if (!isMatch(change, each)) continue;
      addPair(change, each, change.change() * each.after());
      right.addMatches(each, change.change());
      if (change.isNew()) left.addMatches(change, each.after());
    }
  }

  private boolean isMatch(JoinSide.Entry ofLeft, JoinSide.Entry ofRight) {
    return matches.eval(pair.apply(ofLeft.internal, ofRight.internal));
  }

  private void addPair(JoinSide.Entry ofLeft, JoinSide.Entry ofRight, long number) {
    if (shape.returnsPairs()) add(ofLeft.row, ofRight.row, number);
  }

  /**
   * Adds a changed row to the result.
   *
   * @param number how often it is new, or is gone if negative
   */
  private void add(Row ofLeft, Row ofRight, long number) {
    if (number == 0) return;
    var width = leftType.size() + (shape.returnsPairs() ? rightType.size() : 0);
    var values = new Object[width + 1];
    for (int i = 0; ofLeft != null && i < leftType.size(); i++) values[i] = ofLeft.get(i);
    for (int i = 0; ofRight != null && i < rightType.size(); i++)
      values[leftType.size() + i] = ofRight.get(i);
    values[width] = number > 0 ? 1 : -1;
    var row = RowFactory.create(values);
    for (long i = 0; i < Math.abs(number); i++) results.add(row);
  }
}
