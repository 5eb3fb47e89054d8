package dev.jetsql.common;

import java.util.Collection;
import java.util.Locale;
import org.apache.commons.text.similarity.LevenshteinDistance;

/** Finds the name that the user probably meant. */
public final class SimilarNames {
  private static final int SHORT = 6;

  private SimilarNames() {}

  /** Returns the name with at most two other letters, in a short name one; see `nearest`. */
  public static String nearest(Collection<String> names, String name) {
    return nearest(names, name, folded(name).length() < SHORT ? 1 : 2);
  }

  /**
   * Returns the name with the smallest edit distance, without regard to case, dots, hyphens and
   * underscores. Returns null if no name is within the distance, or the name itself is listed.
   */
  public static String nearest(Collection<String> names, String name, int maxDistance) {
    String key = folded(name);
    String nearest = null;
    int limit = maxDistance;
    for (String each : names) {
      if (each.equalsIgnoreCase(name)) return null;
      int distance = LevenshteinDistance.getDefaultInstance().apply(folded(each), key);
      if (distance <= limit) {
        nearest = each;
        limit = distance - 1;
      }
    }
    return nearest;
  }

  /** Returns whether a name is listed, in any case. */
  public static boolean contains(Collection<String> names, String name) {
    return names.stream().anyMatch(name::equalsIgnoreCase);
  }

  private static String folded(String name) {
    return name.toLowerCase(Locale.ROOT).replaceAll("[._-]", "");
  }
}
