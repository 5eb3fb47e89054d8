package dev.jetsql.kafka;

import java.util.Map;

/**
 * Look up options in maps that keep their names as the user wrote them. Case does not matter in
 * names of options.
 */
final class OptionMaps {
  private OptionMaps() {}

  /** Return the name as the map spells it, or null if the map has no such option. */
  static String find(Map<String, String> options, String name) {
    for (String key : options.keySet()) {
      if (key.equalsIgnoreCase(name)) return key;
    }
    return null;
  }

  /** Return the value of an option, or null if the map has none. */
  static String get(Map<String, String> options, String name) {
    String found = find(options, name);
    return found == null ? null : options.get(found);
  }

  static void remove(Map<String, String> options, String name) {
    String found = find(options, name);
    if (found != null) options.remove(found);
  }

  /** Add the options that the map does not have yet. */
  static void putMissing(Map<String, String> options, Map<String, String> defaults) {
    defaults.forEach(
        (name, value) -> {
          if (find(options, name) == null) options.put(name, value);
        });
  }
}
