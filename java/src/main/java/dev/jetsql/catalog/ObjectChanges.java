package dev.jetsql.catalog;

import dev.jetsql.common.EngineCallback;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;

/**
 * Reports to the engine which tables, schemas and functions are created, renamed and dropped. It
 * keeps their owners, and the rights on them, which a new object with the same name must not get.
 */
final class ObjectChanges {
  private ObjectChanges() {}

  /** The kinds of objects, as the engine names them. */
  enum Kind {
    TABLE, // or a view
    SCHEMA,
    FUNCTION
  }

  /**
   * Runs what creates an object. It belongs to the user of the session from before it exists, and
   * rights on an earlier object with the same name have ended.
   */
  static void create(Kind kind, List<String> name, Runnable creation) {
    report("created", kind, name, null);
    try {
      creation.run();
    } catch (RuntimeException | Error e) {
      drop(kind, name);
      throw e;
    }
  }

  /** Runs what renames an object: its rights go along, and those on the new name end. */
  static void rename(Kind kind, List<String> name, List<String> newName, Runnable renaming) {
    report("renamed", kind, name, newName);
    try {
      renaming.run();
    } catch (RuntimeException | Error e) {
      report("renamed", kind, newName, name);
      throw e;
    }
  }

  /** Reports that an object does not exist any more. */
  static void drop(Kind kind, List<String> name) {
    report("dropped", kind, name, null);
  }

  private static void report(String change, Kind kind, List<String> name, List<String> newName) {
    if (!EngineCallback.isConnected()) return;
    var request = new HashMap<String, Object>();
    request.put("change", change);
    request.put("kind", kind.name());
    request.put("name", lower(name));
    request.put("new_name", newName == null ? null : lower(newName));
    EngineCallback.CHANGE_OBJECT.ask(null, request);
  }

  private static List<String> lower(List<String> name) {
    return name.stream().map(part -> part.toLowerCase(Locale.ROOT)).toList();
  }
}
