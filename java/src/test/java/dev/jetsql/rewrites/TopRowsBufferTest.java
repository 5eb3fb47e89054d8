package dev.jetsql.rewrites;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TopRowsBufferTest {
  private static final Comparator<InternalRow> BY_KEY = Comparator.comparing(row -> row.getLong(1));

  /** A row of an id and a sort key. */
  private static UnsafeRow row(long id, long key) {
    var writer = new UnsafeRowWriter(2);
    writer.reset();
    writer.write(0, id);
    writer.write(1, key);
    return writer.getRow().copy();
  }

  private static List<String> ranked(TopRowsBuffer buffer) {
    var rows = new ArrayList<String>();
    buffer.forEach(
        (row, rank) -> rows.add("%d/%d: %d".formatted(row.getLong(0), row.getLong(1), rank)));
    return rows;
  }

  /** Ranks all rows as SQL does, and keeps those up to the limit. */
  private static List<String> expected(List<UnsafeRow> rows, RankFunction function, int limit) {
    var groups = new TreeMap<Long, List<Long>>();
    rows.forEach(
        row -> groups.computeIfAbsent(row.getLong(1), k -> new ArrayList<>()).add(row.getLong(0)));
    var kept = new ArrayList<String>();
    int before = 0;
    int group = 0;
    for (var entry : groups.entrySet()) {
      group++;
      entry.getValue().sort(null);
      for (int peer = 0; peer < entry.getValue().size(); peer++) {
        int rank =
            switch (function) {
              case ROW_NUMBER -> before + peer + 1;
              case RANK -> before + 1;
              case DENSE_RANK -> group;
            };
        if (rank <= limit)
          kept.add("%d/%d: %d".formatted(entry.getValue().get(peer), entry.getKey(), rank));
      }
      before += entry.getValue().size();
    }
    return kept;
  }

  @ParameterizedTest
  @EnumSource(RankFunction.class)
  void keepsWhatSqlRanksUpToTheLimit(RankFunction function) {
    var random = new Random(5);
    for (int trial = 0; trial < 300; trial++) {
      int limit = 1 + random.nextInt(5);
      var rows = new ArrayList<UnsafeRow>();
      var buffers = new ArrayList<TopRowsBuffer>();
      for (int i = 0; i < 3; i++) buffers.add(new TopRowsBuffer(function, limit, BY_KEY));
      int count = random.nextInt(30);
      for (int id = 0; id < count; id++) {
        var row = row(id, random.nextInt(6));
        rows.add(row);
        buffers.get(random.nextInt(3)).add(row);
      }
      var merged = new TopRowsBuffer(function, limit, BY_KEY);
      for (var buffer : buffers) {
        var read = new TopRowsBuffer(function, limit, BY_KEY).read(buffer.serialize(), 2);
        assertEquals(ranked(buffer), ranked(read));
        merged.addAll(read);
      }
      var wanted = expected(rows, function, limit);
      var found = ranked(merged);
      if (function != RankFunction.ROW_NUMBER) { // peers are in the order of their arrival
        wanted.sort(null);
        found.sort(null);
      }
      assertEquals(wanted, found);
    }
  }

  @Test
  void anEmptyBufferHasNoBytes() {
    var buffer = new TopRowsBuffer(RankFunction.ROW_NUMBER, 3, BY_KEY);
    assertEquals(0, buffer.serialize().length);
    assertEquals(0, buffer.read(new byte[0], 2).size());
  }
}
