package dev.jetsql.patterns;

import java.util.ArrayList;
import java.util.List;

/** A pattern as instructions of a backtracking search. An instruction has up to two operands. */
final class Program {
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

  private final byte[] kinds;
  private final int[] first;
  private final int[] second;
  private final int loops;

  private Program(List<int[]> instructions, int loops) {
    int size = instructions.size();
    this.kinds = new byte[size];
    this.first = new int[size];
    this.second = new int[size];
    this.loops = loops;
    for (int i = 0; i < size; i++) {
      kinds[i] = (byte) instructions.get(i)[0];
      first[i] = instructions.get(i)[1];
      second[i] = instructions.get(i)[2];
    }
  }

  int size() {
    return kinds.length;
  }

  byte kind(int at) {
    return kinds[at];
  }

  /** Returns the first operand of an instruction. */
  int first(int at) {
    return first[at];
  }

  /** Returns the second operand of an instruction. */
  int second(int at) {
    return second[at];
  }

  /** Returns the number of loops whose rounds may take no rows. */
  int loops() {
    return loops;
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
    return new Program(builder.instructions, builder.loops);
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
  }
}
