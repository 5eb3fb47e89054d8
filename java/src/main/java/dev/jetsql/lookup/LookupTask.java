package dev.jetsql.lookup;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;

/** Joins the rows of a partition of the stream, a chunk of keys at a time. */
final class LookupTask implements FlatMapFunction<Iterator<InternalRow>, InternalRow> {
  private static final long serialVersionUID = 1L;
  private static final int CHUNK_ROWS = 10_000;

  private final LookupPlan lookup;
  private final TableRows table;

  LookupTask(LookupPlan lookup, TableRows table) {
    this.lookup = lookup;
    this.table = table;
  }

  @Override
  public Iterator<InternalRow> call(Iterator<InternalRow> rows) {
    return new JoinedRows(rows);
  }

  /** A row of the stream with its key, which is null if it matches nothing. */
  private record Keyed(InternalRow row, UnsafeRow key) {}

  /** The joined rows; each is valid until the next one. */
  private final class JoinedRows implements Iterator<InternalRow> {
    private final Iterator<InternalRow> rows;
    private final UnsafeProjection key = UnsafeProjection.create(lookup.values(), lookup.stream());
    private final UnsafeProjection tableKey =
        UnsafeProjection.create(lookup.keys(), lookup.output());
    private final UnsafeProjection joined =
        UnsafeProjection.create(DataTypeUtils.fromAttributes(lookup.joined()));
    private final BasePredicate condition =
        Predicate$.MODULE$.create(lookup.condition(), lookup.joined());
    private final InternalRow noMatch = new GenericInternalRow(lookup.output().size());
    private final TableRows.Reader reader = table.reader();
    private final KeyCondition keys = new KeyCondition(lookup);
    private final LookupCache cache = LookupCache.of(lookup);
    private final Queue<Keyed> chunk = new ArrayDeque<>();
    private final Map<UnsafeRow, List<UnsafeRow>> found = new HashMap<>();
    private final Queue<JoinedRow> ready = new ArrayDeque<>();

    JoinedRows(Iterator<InternalRow> rows) {
      this.rows = rows;
      condition.initialize(0);
    }

    @Override
    public boolean hasNext() {
      while (ready.isEmpty()) {
        if (chunk.isEmpty() && !readChunk()) return false;
        join(chunk.remove());
      }
      return true;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) throw new java.util.NoSuchElementException();
      return joined.apply(ready.remove());
    }

    private void join(Keyed stream) {
      for (var match : found.getOrDefault(stream.key(), List.of())) {
        var row = new JoinedRow(stream.row(), match);
        if (condition.eval(row)) ready.add(row);
      }
      if (ready.isEmpty() && !lookup.inner()) ready.add(new JoinedRow(stream.row(), noMatch));
    }

    /** Reads the next rows of the stream, and those of the table with their keys. */
    private boolean readChunk() {
      found.clear();
      var missing = new ArrayList<UnsafeRow>();
      while (rows.hasNext() && chunk.size() < CHUNK_ROWS && missing.size() < keys.limit()) {
        var row = rows.next().copy();
        var value = key.apply(row);
        if (value.anyNull()) {
          chunk.add(new Keyed(row, null));
          continue;
        }
        var copy = value.copy();
        chunk.add(new Keyed(row, copy));
        if (found.containsKey(copy)) continue;
        var known = cache.get(copy);
        if (known == null) missing.add(copy);
        found.put(copy, known == null ? new ArrayList<>() : known);
      }
      if (!missing.isEmpty()) read(missing);
      return !chunk.isEmpty();
    }

    private void read(List<UnsafeRow> missing) {
      var wanted = new java.util.HashSet<>(missing);
      reader.read(
          keys.select(missing),
          row -> {
            var value = tableKey.apply(row);
            if (wanted.contains(value)) found.get(value).add(((UnsafeRow) row).copy());
          });
      for (var each : missing) cache.put(each, Collections.unmodifiableList(found.get(each)));
    }
  }
}
