package dev.jetsql.patterns;

import java.io.Serializable;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The pattern of a MATCH_RECOGNIZE: a regular expression whose letters are variables. */
public sealed interface RowPattern extends Serializable {
  /** A row for which the condition of a variable holds. */
  record Variable(String name) implements RowPattern {}

  /** Patterns one after the other. */
  record Sequence(List<RowPattern> parts) implements RowPattern {}

  /** One of several patterns. An earlier one is preferred. */
  record Choice(List<RowPattern> options) implements RowPattern {}

  /**
   * A pattern several times.
   *
   * @param part the pattern
   * @param least the smallest number of times
   * @param most the largest number of times, or UNBOUNDED
   * @param isReluctant whether a smaller number is preferred
   */
  record Repeat(RowPattern part, int least, int most, boolean isReluctant) implements RowPattern {}

  int UNBOUNDED = Integer.MAX_VALUE;

  /** Returns the patterns that a pattern is made of. */
  default List<RowPattern> parts() {
    if (this instanceof Sequence sequence) return sequence.parts;
    if (this instanceof Choice choice) return choice.options;
    return this instanceof Repeat repeat ? List.of(repeat.part) : List.of();
  }

  /** Returns the names of the variables in the order of the text. */
  default Set<String> variables() {
    var names = new LinkedHashSet<String>();
    if (this instanceof Variable variable) names.add(variable.name);
    for (var part : parts()) names.addAll(part.variables());
    return names;
  }

  /** Returns whether no rows match the pattern. */
  default boolean matchesNoRows() {
    return existsMatch(Set.of());
  }

  /** Returns whether a match can be without limit. */
  default boolean isUnbounded() {
    if (this instanceof Repeat repeat && repeat.most == UNBOUNDED) return true;
    return parts().stream().anyMatch(RowPattern::isUnbounded);
  }

  /** Returns whether there is a match without rows of the variables. */
  default boolean lacks(Set<String> variables) {
    var others = variables();
    others.removeAll(variables);
    return existsMatch(others);
  }

  /** Returns whether there is a match whose first row is one of the variables'. */
  default boolean beginsWith(Set<String> variables) {
    return existsFirst(variables, variables());
  }

  /** Returns whether there is a match whose first row is the last one of the variables'. */
  default boolean endsAtFirst(Set<String> variables) {
    var others = variables();
    others.removeAll(variables);
    return existsFirst(variables, others);
  }

  /** Returns whether there is a match of rows of these variables; it may have no rows. */
  private boolean existsMatch(Set<String> of) {
    if (this instanceof Variable variable) return of.contains(variable.name);
    if (this instanceof Sequence sequence)
      return sequence.parts.stream().allMatch(part -> part.existsMatch(of));
    if (this instanceof Choice choice)
      return choice.options.stream().anyMatch(part -> part.existsMatch(of));
    var repeat = (Repeat) this;
    return repeat.least == 0 || repeat.part.existsMatch(of);
  }

  /**
   * Returns whether there is a match with a first row of `first` and all other rows of `others`.
   */
  private boolean existsFirst(Set<String> first, Set<String> others) {
    if (this instanceof Variable variable) return first.contains(variable.name);
    if (this instanceof Choice choice)
      return choice.options.stream().anyMatch(part -> part.existsFirst(first, others));
    if (this instanceof Repeat repeat) {
      var restIsPossible = repeat.least <= 1 || repeat.part.existsMatch(others);
      return restIsPossible && repeat.most > 0 && repeat.part.existsFirst(first, others);
    }
    var parts = ((Sequence) this).parts;
    for (int i = 0; i < parts.size(); i++) {
      var rest = parts.subList(i + 1, parts.size());
      if (parts.get(i).existsFirst(first, others)
          && rest.stream().allMatch(part -> part.existsMatch(others))) return true;
      if (!parts.get(i).matchesNoRows()) return false;
    }
    return false;
  }
}
