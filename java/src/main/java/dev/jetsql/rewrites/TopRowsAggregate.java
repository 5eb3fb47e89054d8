package dev.jetsql.rewrites;

import dev.jetsql.common.Sequences;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.BaseOrdering;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateOrdering$;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of a group whose rank in an order is at most `limit`, as an array of structs: the values
 * and the rank. Its children are the values, followed by the sort keys.
 *
 * <p>Its state is the kept rows, see {@link TopRowsBuffer#serialize}.
 */
final class TopRowsAggregate extends TypedImperativeAggregate<TopRowsBuffer>
    implements Serializable {
  private static final long serialVersionUID = 1L;

  private final List<Expression> expressions;
  private final int valueCount;
  private final List<SortKey> sortKeys;
  private final RankFunction function;
  private final int limit;
  private final int mutableAggBufferOffset;
  private final int inputAggBufferOffset;

  private transient UnsafeProjection toRow;
  private transient BaseOrdering order;

  /** The direction of a sort key and the place of its NULLs. */
  private record SortKey(boolean ascending, boolean nullsFirst) implements Serializable {
    static SortKey of(SortOrder by) {
      return new SortKey(
          by.direction() == Ascending$.MODULE$, by.nullOrdering() == NullsFirst$.MODULE$);
    }

    String sql() {
      return (ascending ? "ASC" : "DESC") + (nullsFirst ? " NULLS FIRST" : " NULLS LAST");
    }
  }

  TopRowsAggregate(
      List<? extends Expression> values,
      List<SortOrder> orderBy,
      RankFunction function,
      int limit) {
    this(
        Sequences.of(concatenate(values, orderBy)),
        values.size(),
        orderBy.stream().map(SortKey::of).toList(),
        function,
        limit,
        0,
        0);
  }

  /** The constructor for Spark, which copies a node by its product's elements. */
  public TopRowsAggregate(
      Seq<Expression> expressions,
      int valueCount,
      List<SortKey> sortKeys,
      RankFunction function,
      int limit,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    this.expressions = List.copyOf(CollectionConverters.asJava(expressions));
    this.valueCount = valueCount;
    this.sortKeys = sortKeys;
    this.function = function;
    this.limit = limit;
    this.mutableAggBufferOffset = mutableAggBufferOffset;
    this.inputAggBufferOffset = inputAggBufferOffset;
  }

  private static List<Expression> concatenate(
      List<? extends Expression> values, List<SortOrder> orderBy) {
    var all = new ArrayList<Expression>(values);
    orderBy.forEach(by -> all.add(by.child()));
    return all;
  }

  @Override
  public TopRowsBuffer createAggregationBuffer() {
    return new TopRowsBuffer(function, limit, order());
  }

  @Override
  public TopRowsBuffer update(TopRowsBuffer buffer, InternalRow input) {
    if (toRow == null) toRow = UnsafeProjection.create(children());
    buffer.add(toRow.apply(input));
    return buffer;
  }

  @Override
  public TopRowsBuffer merge(TopRowsBuffer buffer, TopRowsBuffer other) {
    buffer.addAll(other);
    return buffer;
  }

  @Override
  public Object eval(TopRowsBuffer buffer) {
    var rows = new ArrayList<InternalRow>(buffer.size());
    var types = expressions.stream().map(Expression::dataType).toArray(DataType[]::new);
    buffer.forEach(
        (row, rank) -> {
          var values = new Object[valueCount + 1];
          for (int i = 0; i < valueCount; i++) {
            values[i] = row.isNullAt(i) ? null : row.get(i, types[i]);
          }
          values[valueCount] = rank;
          rows.add(new GenericInternalRow(values));
        });
    return new GenericArrayData(rows.toArray());
  }

  @Override
  public byte[] serialize(TopRowsBuffer buffer) {
    return buffer.serialize();
  }

  @Override
  public TopRowsBuffer deserialize(byte[] bytes) {
    return createAggregationBuffer().read(bytes, expressions.size());
  }

  private BaseOrdering order() {
    if (order == null) {
      var keys = new ArrayList<SortOrder>();
      for (int i = 0; i < sortKeys.size(); i++) {
        var type = expressions.get(valueCount + i).dataType();
        var key = sortKeys.get(i);
        keys.add(sortOrder(new BoundReference(valueCount + i, type, true), key));
      }
      order = GenerateOrdering$.MODULE$.generate(Sequences.of(keys));
    }
    return order;
  }

  private static SortOrder sortOrder(Expression child, SortKey key) {
    return new SortOrder(
        child,
        key.ascending() ? Ascending$.MODULE$ : Descending$.MODULE$,
        key.nullsFirst() ? NullsFirst$.MODULE$ : NullsLast$.MODULE$,
        Sequences.of());
  }

  @Override
  public DataType dataType() {
    return new ArrayType(rowType(), false);
  }

  /** Returns the type of a returned row: the values, and the rank. */
  StructType rowType() {
    var fields = new StructField[valueCount + 1];
    for (int i = 0; i < valueCount; i++) {
      var value = expressions.get(i);
      fields[i] = new StructField("c" + i, value.dataType(), value.nullable(), Metadata.empty());
    }
    fields[valueCount] = new StructField("rank", DataTypes.IntegerType, false, Metadata.empty());
    return new StructType(fields);
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public Seq<Expression> children() {
    return Sequences.of(expressions);
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return copy(children.toSeq(), mutableAggBufferOffset, inputAggBufferOffset);
  }

  @Override
  public int mutableAggBufferOffset() {
    return mutableAggBufferOffset;
  }

  @Override
  public ImperativeAggregate withNewMutableAggBufferOffset(int offset) {
    return copy(children(), offset, inputAggBufferOffset);
  }

  @Override
  public int inputAggBufferOffset() {
    return inputAggBufferOffset;
  }

  @Override
  public ImperativeAggregate withNewInputAggBufferOffset(int offset) {
    return copy(children(), mutableAggBufferOffset, offset);
  }

  private TopRowsAggregate copy(Seq<Expression> children, int mutableOffset, int inputOffset) {
    return new TopRowsAggregate(
        children, valueCount, sortKeys, function, limit, mutableOffset, inputOffset);
  }

  @Override
  public String prettyName() {
    return "top_rows";
  }

  @Override
  public String sql() {
    return toText(Expression::sql);
  }

  @Override
  public String toString() {
    return toText(Expression::toString);
  }

  private String toText(Function<Expression, String> text) {
    var values = expressions.subList(0, valueCount).stream().map(text).toList();
    var keys = new ArrayList<String>();
    for (int i = 0; i < sortKeys.size(); i++) {
      keys.add(text.apply(expressions.get(valueCount + i)) + " " + sortKeys.get(i).sql());
    }
    return "top_rows(struct(%s) WHERE %s <= %d ORDER BY %s)"
        .formatted(String.join(", ", values), function.sql(), limit, String.join(", ", keys));
  }

  // Spark compares and copies nodes as Scala's products: each constructor argument is an element.

  @Override
  public int productArity() {
    return 7;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> children();
      case 1 -> valueCount;
      case 2 -> sortKeys;
      case 3 -> function;
      case 4 -> limit;
      case 5 -> mutableAggBufferOffset;
      case 6 -> inputAggBufferOffset;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof TopRowsAggregate;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TopRowsAggregate that
        && productIterator().sameElements(that.productIterator());
  }

  @Override
  public int hashCode() {
    return super.hashCode();
  }
}
