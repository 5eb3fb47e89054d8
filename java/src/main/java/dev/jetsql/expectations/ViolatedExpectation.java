package dev.jetsql.expectations;

import java.util.Map;
import org.apache.spark.SparkThrowable;

/** The error of a row that violates a rule with ON VIOLATION FAIL. */
public final class ViolatedExpectation extends RuntimeException implements SparkThrowable {
  private static final long serialVersionUID = 1L;
  private static final int MAX_ROW = 500;

  private final String rule;

  /**
   * Creates the error.
   *
   * @param row the values of the row, as text
   */
  ViolatedExpectation(String rule, String row) {
    super("A row violates the rule " + rule + ": " + brief(row));
    this.rule = rule;
  }

  private static String brief(String row) {
    return row.length() <= MAX_ROW ? row : row.substring(0, MAX_ROW) + "...";
  }

  @Override
  public String getCondition() {
    return "JETSQL.EXPECTATION_VIOLATED";
  }

  @Override
  public String getSqlState() {
    return "23514";
  }

  @Override
  public Map<String, String> getMessageParameters() {
    return Map.of("rule", rule);
  }
}
