package dev.jetsql.rights;

/** The settings of Spark that a user who is not an ADMIN may set in a session. */
public final class UserSettings {
  private UserSettings() {}

  /** Returns why a user may not change a setting, or null if he may. */
  public static String refusal(String name) {
    var rights = Rights.current();
    return rights == null || rights.isSetting(name)
        ? null
        : "Only an ADMIN may use the setting %s: users set only %s."
            .formatted(name, String.join(", ", rights.settings()));
  }
}
