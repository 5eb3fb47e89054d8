package dev.jetsql.lineage;

import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The columns of tables on which a value or a set of rows depends, and how. A struct also has those
 * of its fields.
 */
final class Dependencies {
  /** The ways in which a value depends on a column, the subtypes of OpenLineage. */
  enum Kind {
    IDENTITY,
    TRANSFORMATION,
    AGGREGATION,
    CONDITIONAL,
    WINDOW,
    JOIN,
    FILTER,
    GROUP_BY,
    SORT;

    private static final Set<Kind> DIRECT = EnumSet.range(IDENTITY, AGGREGATION);

    boolean isDirect() {
      return DIRECT.contains(this);
    }
  }

  /**
   * A column of a table.
   *
   * @param dataset the index of the table
   */
  record Column(int dataset, String name) {}

  /**
   * A way in which a value depends on a column.
   *
   * @param masking whether the value does not show that of the column
   */
  record Use(Kind kind, boolean masking) implements Comparable<Use> {
    @Override
    public int compareTo(Use other) {
      var byKind = kind.compareTo(other.kind);
      return byKind == 0 ? Boolean.compare(masking, other.masking) : byKind;
    }

    private Use direct(Kind outer, boolean masks) {
      if (!kind.isDirect()) return this;
      return new Use(outer.compareTo(kind) > 0 ? outer : kind, masking || masks);
    }
  }

  private final Map<Column, Set<Use>> uses = new LinkedHashMap<>();
  private final Map<String, Dependencies> fields = new LinkedHashMap<>();

  static Dependencies of(int dataset, String column) {
    var made = new Dependencies();
    made.add(new Column(dataset, column), new Use(Kind.IDENTITY, false));
    return made;
  }

  /** Returns those of a struct. fields: those of its fields */
  static Dependencies ofStruct(Map<String, Dependencies> fields) {
    var made = new Dependencies();
    for (var field : fields.entrySet()) {
      made.add(field.getValue().direct(Kind.TRANSFORMATION, false));
      made.fields.put(field.getKey(), field.getValue());
    }
    return made;
  }

  Map<Column, Set<Use>> uses() {
    return uses;
  }

  /** Returns those of a field of a struct. */
  Dependencies field(String name) {
    var known = fields.get(name);
    return known == null ? direct(Kind.TRANSFORMATION, false) : known;
  }

  private void add(Column column, Use use) {
    uses.computeIfAbsent(column, each -> new TreeSet<>()).add(use);
  }

  /** Adds those of another value, without its fields. */
  void add(Dependencies others) {
    others.uses.forEach((column, all) -> all.forEach(use -> add(column, use)));
  }

  /** Returns those of a value that is computed of this one. */
  Dependencies direct(Kind kind, boolean masks) {
    var made = new Dependencies();
    uses.forEach((column, all) -> all.forEach(use -> made.add(column, use.direct(kind, masks))));
    return made;
  }

  /** Returns those of a window of time, whose computation has conditions that no user wrote. */
  Dependencies ofWindow() {
    var made = new Dependencies();
    uses.forEach(
        (column, all) ->
            all.stream()
                .filter(use -> use.kind().isDirect())
                .forEach(use -> made.add(column, use)));
    fields.forEach((name, field) -> made.fields.put(name, field.ofWindow()));
    return made;
  }

  /** Returns those of an aggregate that returns one of several values, with their fields. */
  Dependencies chosen() {
    var made = direct(Kind.AGGREGATION, false);
    fields.forEach((name, field) -> made.fields.put(name, field.chosen()));
    return made;
  }

  /** Adds what decides which one of several values this is, also for its fields. */
  void addToFields(Dependencies others) {
    add(others);
    fields.values().forEach(field -> field.addToFields(others));
  }

  /** Returns those of what this value only decides. */
  Dependencies indirect(Kind kind) {
    var made = new Dependencies();
    uses.keySet().forEach(column -> made.add(column, new Use(kind, false)));
    return made;
  }

  /** Returns those of a value that is one of both, such as a column of a UNION. */
  static Dependencies either(Dependencies one, Dependencies other) {
    var made = new Dependencies();
    made.add(one);
    made.add(other);
    for (var name : one.fields.keySet())
      if (other.fields.containsKey(name))
        made.fields.put(name, either(one.fields.get(name), other.fields.get(name)));
    return made;
  }
}
