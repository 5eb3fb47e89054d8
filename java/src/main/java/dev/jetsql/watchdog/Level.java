package dev.jetsql.watchdog;

/** How scarce a resource is. */
enum Level {
  NORMAL,
  WARNING,
  DANGER;

  /** Returns the level of something that is used up. */
  static Level ofUse(double used, double warning, double danger) {
    return used >= danger ? DANGER : used >= warning ? WARNING : NORMAL;
  }

  /** Returns the level of something of which little is left. */
  static Level ofRest(long left, long warning, long danger) {
    return left < danger ? DANGER : left < warning ? WARNING : NORMAL;
  }
}
