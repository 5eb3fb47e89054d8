package dev.jetsql.rewrites;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The first rows of a group in a given order: those whose rank is at most `limit`.
 *
 * <p>Rows with equal sort keys are peers. {@link RankFunction#ROW_NUMBER} must choose among peers;
 * it takes the rows whose bytes are lower, so that a repeated batch chooses the same rows.
 */
final class TopRowsBuffer {
  private static final int HEADER_BYTES = Integer.BYTES;

  private final RankFunction function;
  private final int limit;
  private final Comparator<InternalRow> order;

  /** The kept rows in their order, in lists of peers. */
  private final List<List<UnsafeRow>> groups = new ArrayList<>();

  private int size;

  TopRowsBuffer(RankFunction function, int limit, Comparator<InternalRow> order) {
    this.function = function;
    this.limit = limit;
    this.order = order;
  }

  /** Adds a row, which is copied if it is kept. */
  void add(UnsafeRow row) {
    var position = find(row);
    if (position >= 0) addPeer(groups.get(position), row);
    else if (-position - 1 < groups.size() || hasRoom()) insert(-position - 1, row.copy());
    removeLast();
  }

  void addAll(TopRowsBuffer other) {
    other.groups.forEach(group -> group.forEach(this::add));
  }

  /** Returns the index of the row's peers, or -(index of insertion) - 1. */
  private int find(UnsafeRow row) {
    int low = 0;
    int high = groups.size() - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int compared = order.compare(groups.get(middle).get(0), row);
      if (compared == 0) return middle;
      if (compared < 0) low = middle + 1;
      else high = middle - 1;
    }
    return -low - 1;
  }

  private boolean hasRoom() {
    return function == RankFunction.DENSE_RANK ? groups.size() < limit : size < limit;
  }

  private void insert(int position, UnsafeRow row) {
    var group = new ArrayList<UnsafeRow>(1);
    group.add(row);
    groups.add(position, group);
    size++;
  }

  private void addPeer(List<UnsafeRow> peers, UnsafeRow row) {
    if (function != RankFunction.ROW_NUMBER) {
      peers.add(row.copy());
    } else {
      var isLast = peers == groups.get(groups.size() - 1);
      if (isLast && !hasRoom() && compareBytes(row, peers.get(peers.size() - 1)) >= 0) return;
      int position = peers.size();
      while (position > 0 && compareBytes(row, peers.get(position - 1)) < 0) position--;
      peers.add(position, row.copy());
    }
    size++;
  }

  private static int compareBytes(UnsafeRow left, UnsafeRow right) {
    return Arrays.compareUnsigned(left.getBytes(), right.getBytes());
  }

  /** Removes the rows whose rank exceeds the limit. */
  private void removeLast() {
    while (!groups.isEmpty() && exceedsLimit()) {
      var last = groups.get(groups.size() - 1);
      var removed = function == RankFunction.ROW_NUMBER ? 1 : last.size();
      size -= removed;
      if (removed == last.size()) groups.remove(groups.size() - 1);
      else last.remove(last.size() - 1);
    }
  }

  private boolean exceedsLimit() {
    var peersOfLast = groups.get(groups.size() - 1).size();
    return switch (function) {
      case ROW_NUMBER -> size > limit;
      case RANK -> size - peersOfLast >= limit;
      case DENSE_RANK -> groups.size() > limit;
    };
  }

  /** Receives a row with its rank, from 1. */
  interface RankedRows {
    void accept(UnsafeRow row, int rank);
  }

  void forEach(RankedRows rows) {
    int before = 0;
    for (int group = 0; group < groups.size(); group++) {
      var peers = groups.get(group);
      for (int peer = 0; peer < peers.size(); peer++) {
        rows.accept(peers.get(peer), rank(group, before, peer));
      }
      before += peers.size();
    }
  }

  private int rank(int group, int before, int peer) {
    return switch (function) {
      case ROW_NUMBER -> before + peer + 1;
      case RANK -> before + 1;
      case DENSE_RANK -> group + 1;
    };
  }

  int size() {
    return size;
  }

  /**
   * Returns the rows one after the other, each as its length and its bytes. The length of a row
   * that has the sort keys of the row before it is negative.
   */
  byte[] serialize() {
    int length = 0;
    for (var group : groups) for (var row : group) length += HEADER_BYTES + row.getSizeInBytes();
    var bytes = ByteBuffer.allocate(length);
    for (var group : groups) {
      int sign = 1;
      for (var row : group) {
        bytes.putInt(sign * row.getSizeInBytes()).put(row.getBytes());
        sign = -1;
      }
    }
    return bytes.array();
  }

  /** Adds the rows of `serialize` to an empty buffer. columns: the number of columns of a row */
  TopRowsBuffer read(byte[] serialized, int columns) {
    var bytes = ByteBuffer.wrap(serialized);
    while (bytes.hasRemaining()) {
      int header = bytes.getInt();
      var content = new byte[Math.abs(header)];
      bytes.get(content);
      var row = new UnsafeRow(columns);
      row.pointTo(content, content.length);
      if (header > 0) insert(groups.size(), row);
      else {
        groups.get(groups.size() - 1).add(row);
        size++;
      }
    }
    return this;
  }
}
