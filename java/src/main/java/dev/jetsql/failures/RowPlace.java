package dev.jetsql.failures;

/**
 * The place in a source that a task was reading when it failed. It is attached to the error of the
 * task as a suppressed one, because Spark only returns the error to the driver.
 */
public final class RowPlace extends Exception {
  private static final long serialVersionUID = 1L;

  /** Creates a place. */
  RowPlace(String place) {
    super(place, null, false, false);
  }
}
