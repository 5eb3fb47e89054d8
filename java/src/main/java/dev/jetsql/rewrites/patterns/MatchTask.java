package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;

/** Finds the matches in a partition of sorted rows. */
record MatchTask(
    MatchPlan match, Seq<SortOrder> keys, Seq<Attribute> inputs, Seq<Attribute> columns)
    implements FlatMapFunction<Iterator<InternalRow>, InternalRow> {
  @Override
  public Iterator<InternalRow> call(Iterator<InternalRow> rows) {
    return new Matches(rows);
  }

  /** Reads the rows of a partition as they are needed. */
  private final class Matches implements Iterator<InternalRow>, PartitionMatcher.RowSource {
    private final Iterator<InternalRow> sorted;
    private final InterpretedOrdering sameKey = new InterpretedOrdering(keys, inputs);
    private final UnsafeProjection toInput =
        UnsafeProjection.create(Sequences.<Expression>of(List.copyOf(Plans.list(inputs))), columns);
    private final UnsafeProjection toResult =
        UnsafeProjection.create(match.resultTypes().toArray(DataType[]::new));
    private final PartitionMatcher matcher = new PartitionMatcher(match);
    private final Queue<InternalRow> results = new ArrayDeque<>();
    private InternalRow key;
    private InternalRow ahead;

    Matches(Iterator<InternalRow> sorted) {
      this.sorted = sorted;
      readAhead();
      openKey();
    }

    private void readAhead() {
      ahead = sorted.hasNext() ? toInput.apply(sorted.next()).copy() : null;
    }

    private void openKey() {
      key = ahead;
      matcher.open(this, new ArrayList<>(), 0, 0);
    }

    @Override
    public boolean read(List<InternalRow> rows) {
      if (ahead == null || sameKey.compare(key, ahead) != 0) return false;
      rows.add(ahead);
      readAhead();
      return true;
    }

    @Override
    public boolean hasPassed(long micros) {
      return false;
    }

    @Override
    public boolean hasNext() {
      while (results.isEmpty() && key != null) {
        var found = matcher.next();
        if (found != null) results.addAll(found);
        else openKey();
      }
      return !results.isEmpty();
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) throw new NoSuchElementException();
      return toResult.apply(results.remove());
    }
  }
}
