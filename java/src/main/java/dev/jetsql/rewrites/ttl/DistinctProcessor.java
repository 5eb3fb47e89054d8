package dev.jetsql.rewrites.ttl;

import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Returns the first row of each key, and forgets the key when its time to live is over. */
final class DistinctProcessor extends TtlProcessor {
  private static final long serialVersionUID = 1;

  private transient ValueState<Boolean> seen;

  DistinctProcessor(long millis, List<Expression> keys) {
    super(millis, keys, List.of());
  }

  @Override
  public String state() {
    return "each distinct row, for its time to live";
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    seen = getHandle().getValueState("seen", Encoders.BOOLEAN(), ttl());
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    if (seen.exists()) return CollectionConverters.asScala(Collections.<Row>emptyIterator());
    seen.update(true);
    return CollectionConverters.asScala(List.of(rows.next()).iterator());
  }
}
