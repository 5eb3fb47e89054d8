package dev.jetsql.kafka;

import java.util.Map;

/**
 * Lookups of options in maps that preserve the spelling of the user. Option names are
 * case-insensitive.
 */
final class OptionMaps {
  private OptionMaps() {}

  /** Returns the name in the spelling of the map, or null if the map has no such option. */
  static String find(Map<String, String> options, String name) {
    for (String key : options.keySet()) {
      if (key.equalsIgnoreCase(name)) return key;
    }
    return null;
  }

  /** Returns the value of an option, or null if the map has none. */
  static String get(Map<String, String> options, String name) {
    String key = find(options, name);
    return key == null ? null : options.get(key);
  }

  static void remove(Map<String, String> options, String name) {
    String key = find(options, name);
    if (key != null) options.remove(key);
  }

  /** Adds the defaults of options that the map does not contain. */
  static void putMissing(Map<String, String> options, Map<String, String> defaults) {
    defaults.forEach(
        (name, value) -> {
          if (find(options, name) == null) options.put(name, value);
        });
  }
}
