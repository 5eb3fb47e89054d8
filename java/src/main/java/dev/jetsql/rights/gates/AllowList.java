package dev.jetsql.rights.gates;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * A list of names with what the gates do with each: classes of plans, classes of expressions, and
 * functions. What is not in it is refused.
 *
 * <p>The files have sections. A line `allowed: REASON` or `refused: REASON` begins one, and its
 * names are indented.
 */
final class AllowList {
  static final AllowList PLANS = new AllowList("plans.txt");
  static final AllowList EXPRESSIONS = new AllowList("expressions.txt");
  static final AllowList FUNCTIONS = new AllowList("functions.txt");

  private static final String ALLOWED = "allowed: ";
  private static final String REFUSED = "refused: ";

  private final Map<String, String> refusals = new HashMap<>(); // "" for an allowed name
  private final ClassValue<String> refusalsOfClasses =
      new ClassValue<>() {
        @Override
        protected String computeValue(Class<?> type) {
          return refusal(type.getName());
        }
      };

  private AllowList(String file) {
    try (var stream = AllowList.class.getResourceAsStream(file);
        var reader = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
      String refusal = null;
      for (var line = reader.readLine(); line != null; line = reader.readLine()) {
        if (line.startsWith(ALLOWED)) refusal = "";
        else if (line.startsWith(REFUSED)) refusal = line.substring(REFUSED.length());
        else if (line.startsWith("  ")) refusals.put(line.trim(), refusal);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns why a name is refused, or null if it is allowed. */
  String refusal(String name) {
    var refusal = refusals.get(name);
    if (refusal == null) return "unknown to JetSQL";
    return refusal.isEmpty() ? null : refusal;
  }

  /** Returns why a class is refused, or null if it is allowed. */
  String refusal(Class<?> type) {
    return refusalsOfClasses.get(type);
  }

  boolean has(String name) {
    return refusals.containsKey(name);
  }
}
