package dev.jetsql.flink;

import dev.jetsql.versions.CaseClasses;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.AlterViewAs;
import org.apache.spark.sql.catalyst.plans.logical.CreateView;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.CreateViewCommand;
import scala.Option;

/** The text that Spark stores for a view: that of the user, and not the one that Spark parsed. */
public final class ViewText {
  private final String sparkText;
  private final String text;

  private ViewText(String sparkText, String text) {
    this.sparkText = sparkText;
    this.text = text;
  }

  /**
   * Returns the statement with the user's text if it makes a view, otherwise as it is.
   *
   * @param plan the statement, parsed from `sparkText`
   * @param text the user's text, of the same length
   */
  public static LogicalPlan restore(LogicalPlan plan, String sparkText, String text) {
    return sparkText.equals(text) ? plan : new ViewText(sparkText, text).restore(plan);
  }

  private LogicalPlan restore(LogicalPlan plan) {
    if (plan instanceof AlterViewAs alter) {
      return CaseClasses.copy(alter, Map.of("originalText", original(alter.originalText())));
    }
    if (plan instanceof CreateView create && create.originalText().isDefined()) {
      var userText = Option.apply(original(create.originalText().get()));
      return CaseClasses.copy(create, Map.of("originalText", userText));
    }
    if (plan instanceof CreateViewCommand create && create.originalText().isDefined()) {
      var userText = Option.apply(original(create.originalText().get()));
      return CaseClasses.copy(create, Map.of("originalText", userText));
    }
    return plan;
  }

  /** Returns the user's text of a query. Spark's text may have blanks after it, see FlinkText. */
  private String original(String query) {
    var start = sparkText.lastIndexOf(query);
    if (start < 0) return query;
    var stop = start + query.length();
    while (stop < text.length() && Character.isWhitespace(sparkText.charAt(stop))) stop++;
    return text.substring(start, stop).stripTrailing();
  }
}
