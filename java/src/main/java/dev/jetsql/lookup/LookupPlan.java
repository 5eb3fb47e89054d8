package dev.jetsql.lookup;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import java.io.Serializable;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;

/**
 * What a task needs to know of a lookup.
 *
 * @param table the table's name in Spark, for users
 * @param url the database
 * @param identity the key of the cache, see `LookupJoin.identity`
 * @param inner whether rows without a match are dropped
 * @param condition the whole condition of the join
 * @param stream the stream's columns
 * @param output the columns of the table's side
 * @param values the keys in the stream's columns
 * @param keys the keys in the columns of the table's side
 * @param columns the names of the keys in the database
 */
record LookupPlan(
    String table,
    String url,
    String identity,
    LookupOptions options,
    boolean inner,
    Expression condition,
    Seq<Attribute> stream,
    Seq<Attribute> output,
    Seq<Expression> values,
    Seq<Expression> keys,
    List<String> columns)
    implements Serializable {
  static LookupPlan of(LookupJoin lookup) {
    var keys = lookup.keys();
    return new LookupPlan(
        lookup.tableName(),
        lookup.url(),
        lookup.identity(),
        lookup.options(),
        lookup.isInner(),
        lookup.join().condition().get(),
        lookup.stream().output(),
        lookup.table().output(),
        Sequences.of(keys.stream().map(LookupJoin.Key::value).toList()),
        Sequences.of(keys.stream().map(key -> (Expression) key.output()).toList()),
        new ArrayList<>(keys.stream().map(LookupJoin.Key::column).toList()));
  }

  /** Returns the columns of a joined row. */
  Seq<Attribute> joined() {
    var columns = new ArrayList<>(Plans.list(stream));
    for (var column : Plans.list(output))
      columns.add(inner ? column : column.withNullability(true));
    return Sequences.of(columns);
  }

  List<DataType> types() {
    return Plans.list(values).stream().map(Expression::dataType).toList();
  }

  /** Returns the lookup in words, for EXPLAIN. */
  String meaning() {
    var text = "%s by %s".formatted(table, String.join(", ", columns));
    if (options.ttlMillis() == 0) return text;
    var seconds = BigDecimal.valueOf(options.ttlMillis(), 3).stripTrailingZeros().toPlainString();
    return "%s; rows are used again for %s s".formatted(text, seconds);
  }
}
