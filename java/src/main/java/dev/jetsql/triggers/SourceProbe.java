package dev.jetsql.triggers;

/** Finds out whether a source of a query has new rows, with less work than a trigger. */
interface SourceProbe {
  /** Remembers the state of the source before a trigger reads it. Returns false if it can't. */
  boolean mark() throws Exception;

  /** Returns whether the source may have rows that the trigger after `mark` has not seen. */
  boolean mayHaveRows() throws Exception;
}
