package dev.jetsql.patterns;

import java.util.Arrays;
import java.util.List;

/** The variables of consecutive rows that a search has taken so far. */
public final class Path {
  private final Indexes[] rows;
  private int start;
  private final Indexes variables = new Indexes();

  /** A growing array of numbers. */
  private static final class Indexes {
    private int[] values = new int[16];
    private int size;

    void add(int value) {
      if (size == values.length) values = Arrays.copyOf(values, 2 * size);
      values[size++] = value;
    }

    /** Returns the number of values up to a last one. */
    int countUpTo(int last) {
      int count = size;
      while (count > 0 && values[count - 1] > last) count--;
      return count;
    }
  }

  /** Creates an empty path. variables: their number */
  public Path(int variables) {
    rows = new Indexes[variables];
    for (int i = 0; i < variables; i++) rows[i] = new Indexes();
  }

  /** Removes all rows. start: the index of the first row of the next path */
  public void clear(int start) {
    this.start = start;
    variables.size = 0;
    for (var each : rows) each.size = 0;
  }

  /** Adds the next row. */
  public void push(int variable) {
    rows[variable].add(end());
    variables.add(variable);
  }

  /** Removes the last row. */
  public void pop() {
    rows[variables.values[--variables.size]].size--;
  }

  /** Returns the index of the first row. */
  public int start() {
    return start;
  }

  /** Returns the index after the last row. */
  public int end() {
    return start + variables.size;
  }

  /** Returns the variable of a row, or -1 for a row that is not in the path. */
  public int variable(int row) {
    return row < start || row >= end() ? -1 : variables.values[row - start];
  }

  /**
   * Returns the index of a row, or -1 if there is none.
   *
   * @param variables the row's variables, or null for any
   * @param isFirst whether rows are counted from the first one, not from the last
   * @param offset the number of such rows before it, or after it
   * @param last the index of the last row that is counted
   */
  public int row(List<Integer> variables, boolean isFirst, int offset, int last) {
    if (variables == null) {
      int row = isFirst ? start + offset : last - offset;
      return row < start || row > last ? -1 : row;
    }
    if (variables.size() == 1) {
      var of = rows[variables.get(0)];
      int number = isFirst ? offset : of.countUpTo(last) - 1 - offset;
      return number < 0 || number >= of.size || of.values[number] > last ? -1 : of.values[number];
    }
    int left = offset;
    for (int i = start; i <= last; i++) {
      int row = isFirst ? i : start + last - i;
      if (variables.contains(variable(row)) && left-- == 0) return row;
    }
    return -1;
  }

  /** Returns the indexes of the rows of variables up to a last one; null for all variables. */
  public int[] rows(List<Integer> variables, int last) {
    if (variables != null && variables.size() == 1) {
      var of = rows[variables.get(0)];
      return Arrays.copyOf(of.values, of.countUpTo(last));
    }
    var found = new Indexes();
    for (int row = start; row <= last; row++)
      if (variables == null || variables.contains(variable(row))) found.add(row);
    return Arrays.copyOf(found.values, found.size);
  }

  /** Returns the variables of all rows. */
  public int[] variables() {
    return Arrays.copyOf(variables.values, variables.size);
  }
}
