package dev.jetsql.patterns;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Finds the preferred match of a pattern that begins at a row, by backtracking in the order of
 * preference: an earlier option of a choice first; more rows first, unless a quantifier is
 * reluctant.
 */
public final class Search {
  private final Program program;
  private final boolean isByRow;
  private final long limit;
  private final Path path;
  private final int[] rounds;
  private int[] stack = new int[64];
  private int depth;
  private final BitSet failed = new BitSet();

  /** The rows and conditions of a search. */
  public interface Rows {
    /** Returns whether a match may have this row. Throws Undecided while this is unknown. */
    boolean has(int row);

    /** Returns whether the last row of a path can be a row of its variable. */
    boolean fits(Path path, int variable);
  }

  /** The end of a search that depends on rows that have not arrived. */
  public static final class Undecided extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Undecided() {
      super(null, null, false, false);
    }
  }

  /** The end of a search that takes too many steps. */
  public static final class TooManySteps extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  /**
   * Creates a search.
   *
   * @param variables the names of the pattern's variables; others refer to them by their indexes
   * @param isByRow whether conditions depend on the row and its neighbours only, not on the
   *     variables of the rows before it: then a search takes each row once in each instruction
   * @param limit the largest number of steps
   */
  public Search(RowPattern pattern, List<String> variables, boolean isByRow, long limit) {
    this.program = Program.of(pattern, variables);
    this.isByRow = isByRow && program.loops() == 0;
    this.limit = limit;
    this.path = new Path(variables.size());
    this.rounds = new int[program.loops()];
  }

  /**
   * Returns the preferred match that begins at a row, or null if there is none. The next search
   * overwrites it.
   */
  public Path find(int start, Rows rows) {
    path.clear(start);
    depth = 0;
    failed.clear();
    Arrays.fill(rounds, -1);
    int next = 0;
    for (long steps = 0; steps < limit; steps++) {
      if (next < 0) {
        next = backtrack();
        if (next < 0) return null;
      }
      int operand = program.first(next);
      switch (program.kind(next)) {
        case Program.ROW -> next = takes(operand, rows) ? next + 1 : -1;
        case Program.TRY -> next = isNew(next) ? choose(next, operand) : -1;
        case Program.GOTO -> next = operand;
        case Program.BEGIN -> {
          push(-1 - operand, rounds[operand]);
          rounds[operand] = path.end();
          next++;
        }
        case Program.END -> next = rounds[operand] == path.end() ? -1 : next + 1;
        default -> {
          return path;
        }
      }
    }
    throw new TooManySteps();
  }

  private boolean takes(int variable, Rows rows) {
    if (!rows.has(path.end())) return false;
    path.push(variable);
    if (rows.fits(path, variable)) return true;
    path.pop();
    return false;
  }

  private int choose(int instruction, int operand) {
    push(program.second(instruction), path.end());
    return operand;
  }

  /** Returns whether no earlier way has come to an instruction with as many rows. */
  private boolean isNew(int instruction) {
    if (!isByRow) return true;
    long state = (long) (path.end() - path.start()) * program.size() + instruction;
    if (state > Integer.MAX_VALUE) throw new TooManySteps();
    if (failed.get((int) state)) return false;
    failed.set((int) state);
    return true;
  }

  private void push(int what, int value) {
    if (depth + 2 > stack.length) stack = Arrays.copyOf(stack, 2 * stack.length);
    stack[depth++] = what;
    stack[depth++] = value;
  }

  /** Returns to the last choice, and returns the instruction of its other option; -1 if none. */
  private int backtrack() {
    while (depth > 0) {
      int value = stack[--depth];
      int what = stack[--depth];
      if (what < 0) {
        rounds[-1 - what] = value;
      } else {
        while (path.end() > value) path.pop();
        return what;
      }
    }
    return -1;
  }
}
