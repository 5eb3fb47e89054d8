package dev.jetsql.rewrites.changes;

import dev.jetsql.plans.RuleProcessor;
import dev.jetsql.plans.StateTypes;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Returns the changes of the groups of an aggregate: the previous row of a group with the sign -1,
 * and its new row with the sign 1. It keeps the newest row of each group.
 *
 * <p>Its input is the aggregate in output mode update: the newest row of each group that has rows
 * in a batch. The last column is the number of rows of the group, which is 0 when it is gone.
 */
final class ChangesProcessor extends RuleProcessor {
  private static final long serialVersionUID = 1;

  private final String groups;
  private final StructType type;
  private transient ValueState<Row> newest;

  /**
   * Creates a processor.
   *
   * @param groups the grouping columns, in words
   * @param expressions what the state depends on
   * @param type the columns of a row that are kept and returned, which are the first ones
   */
  ChangesProcessor(String groups, List<? extends Expression> expressions, StructType type) {
    super(expressions, List.of(type));
    this.groups = groups;
    this.type = type;
  }

  @Override
  public String state() {
    return "the newest row of each group";
  }

  @Override
  public String keptForEver() {
    return "the newest row of each group by " + groups;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    newest = getHandle().getValueState("newest", StateTypes.encoder(type), TTLConfig.NONE());
  }

  @Override
  public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues now) {
    var row = rows.next();
    var before = newest.exists() ? newest.get() : null;
    var after = row.getLong(row.size() - 1) > 0 ? firstOf(row, type.size()) : null;
    var changes = new ArrayList<Row>();
    if (before == null ? after != null : !before.equals(after)) {
      if (before != null) changes.add(firstOf(before, type.size(), -1));
      if (after != null) changes.add(firstOf(after, type.size(), 1));
      if (after == null) newest.clear();
      else newest.update(after);
    }
    return CollectionConverters.asScala(changes.iterator());
  }
}
