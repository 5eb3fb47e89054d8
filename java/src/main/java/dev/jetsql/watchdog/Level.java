package dev.jetsql.watchdog;

/** How scarce a resource is. */
enum Level {
  NORMAL,
  WARNING,
  DANGER;

  /** Returns the level of something that is used up. The thresholds are percent of the limit. */
  static Level ofUse(long used, long limit, double warning, double danger) {
    double percent = 100.0 * used / limit;
    return percent >= danger ? DANGER : percent >= warning ? WARNING : NORMAL;
  }

  /** Returns the level of something of which little is left. */
  static Level ofRest(long left, long warning, long danger) {
    return left < danger ? DANGER : left < warning ? WARNING : NORMAL;
  }
}
