package dev.jetsql.rights;

import java.util.List;
import java.util.Locale;

/** The settings of Spark that a user who is not an ADMIN may set in a session. */
public final class UserSettings {
  private static final List<String> NAMES =
      List.of(
          "spark.sql.session.timezone", "spark.sql.ansi.enabled", "spark.sql.shuffle.partitions");

  private UserSettings() {}

  /** Returns why a user may not change a setting, or null if he may. */
  public static String refusal(String name) {
    return NAMES.contains(name.toLowerCase(Locale.ROOT))
        ? null
        : "Only an ADMIN may use the setting %s: users set only %s."
            .formatted(name, String.join(", ", NAMES));
  }
}
