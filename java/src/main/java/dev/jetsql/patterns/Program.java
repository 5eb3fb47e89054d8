package dev.jetsql.patterns;

import java.util.ArrayList;
import java.util.List;

/**
 * A pattern as instructions of a backtracking search. An instruction has up to two operands.
 *
 * @param kinds the instructions
 * @param first their first operands
 * @param second their second operands
 * @param loops the number of loops whose rounds may take no rows
 */
record Program(byte[] kinds, int[] first, int[] second, int loops) {
  /** Take a row of the variable in the first operand. */
  static final byte ROW = 0;

  /** Continue at the first operand; if that fails, at the second one. */
  static final byte TRY = 1;

  /** Continue at the first operand. */
  static final byte GOTO = 2;

  /** Begin a round of the loop in the first operand. */
  static final byte BEGIN = 3;

  /** Fail if the round of the loop in the first operand has taken no rows. */
  static final byte END = 4;

  /** All of the pattern has matched. */
  static final byte MATCH = 5;

  /** The largest number of instructions. */
  static final int MOST = 20_000;

  /** A pattern that has too many instructions. */
  static final class TooLong extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  int size() {
    return kinds.length;
  }

  /**
   * Returns the program of a pattern. Throws TooLong.
   *
   * @param variables the names of the variables; an operand is an index into them
   */
  static Program of(RowPattern pattern, List<String> variables) {
    var builder = new Builder(variables);
    builder.add(pattern);
    builder.emit(MATCH, 0, 0);
    return builder.build();
  }

  private static final class Builder {
    private final List<String> variables;
    private final List<int[]> instructions = new ArrayList<>();
    private int loops;

    Builder(List<String> variables) {
      this.variables = variables;
    }

    int emit(byte kind, int first, int second) {
      if (instructions.size() == MOST) throw new TooLong();
      instructions.add(new int[] {kind, first, second});
      return instructions.size() - 1;
    }

    void add(RowPattern pattern) {
      if (pattern instanceof RowPattern.Variable variable)
        emit(ROW, variables.indexOf(variable.name()), 0);
      else if (pattern instanceof RowPattern.Sequence sequence) sequence.parts().forEach(this::add);
      else if (pattern instanceof RowPattern.Choice choice) addChoice(choice.options());
      else addRepeat((RowPattern.Repeat) pattern);
    }

    private void addChoice(List<RowPattern> options) {
      var ends = new ArrayList<Integer>();
      for (int i = 0; i < options.size(); i++) {
        var isLast = i == options.size() - 1;
        int begin = isLast ? -1 : emit(TRY, instructions.size() + 1, 0);
        add(options.get(i));
        if (isLast) continue;
        ends.add(emit(GOTO, 0, 0));
        instructions.get(begin)[2] = instructions.size();
      }
      for (int end : ends) instructions.get(end)[1] = instructions.size();
    }

    private void addRepeat(RowPattern.Repeat repeat) {
      for (int i = 0; i < repeat.least(); i++) add(repeat.part());
      if (repeat.most() == RowPattern.UNBOUNDED) {
        addLoop(repeat);
        return;
      }
      var begins = new ArrayList<Integer>();
      for (int i = repeat.least(); i < repeat.most(); i++) {
        begins.add(emit(TRY, 0, 0));
        add(repeat.part());
      }
      for (int begin : begins) setBranches(begin, begin + 1, repeat.isReluctant());
    }

    private void addLoop(RowPattern.Repeat repeat) {
      int begin = emit(TRY, 0, 0);
      var mayTakeNoRows = repeat.part().matchesNoRows();
      int loop = mayTakeNoRows ? loops++ : 0;
      if (mayTakeNoRows) emit(BEGIN, loop, 0);
      add(repeat.part());
      if (mayTakeNoRows) emit(END, loop, 0);
      emit(GOTO, begin, 0);
      setBranches(begin, begin + 1, repeat.isReluctant());
    }

    /** Sets where a TRY goes: into the part, or past the last instruction. */
    private void setBranches(int begin, int part, boolean isReluctant) {
      int end = instructions.size();
      instructions.get(begin)[1] = isReluctant ? end : part;
      instructions.get(begin)[2] = isReluctant ? part : end;
    }

    Program build() {
      int size = instructions.size();
      var program = new Program(new byte[size], new int[size], new int[size], loops);
      for (int i = 0; i < size; i++) {
        program.kinds[i] = (byte) instructions.get(i)[0];
        program.first[i] = instructions.get(i)[1];
        program.second[i] = instructions.get(i)[2];
      }
      return program;
    }
  }
}
