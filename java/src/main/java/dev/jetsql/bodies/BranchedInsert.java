package dev.jetsql.bodies;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Origins;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.rewrites.Branches;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;

/** The INSERTs of a body with several, resolved by Spark's analyzer one after the other. */
public final class BranchedInsert {
  private final SparkSession session;
  private final LogicalPlan source;
  private final LogicalPlan standIn;
  private final List<LogicalPlan> commands = new ArrayList<>();

  private BranchedInsert(SparkSession session, LogicalPlan source) {
    this.session = session;
    this.source = source;
    this.standIn = Branches.standIn(source);
  }

  /**
   * Resolves the source in the session. Throws Spark's errors, with positions in `text`.
   *
   * @param text the query of the source
   */
  public static BranchedInsert ofSource(SparkSession session, String text) {
    return new BranchedInsert(
        session, JobBody.inSession(session, () -> analyze(session, parse(session, text))));
  }

  /**
   * Resolves the INSERT of a branch. Throws Spark's errors, with positions in `text`.
   *
   * @param text an INSERT that reads from `name`, which stands for the source
   * @param line the line of the table in `text`, from 1, for errors without a position
   * @param column its column, from 0
   */
  public void add(String text, String name, int line, int column) {
    commands.add(
        JobBody.inSession(
            session,
            () -> {
              var parsed =
                  parse(session, text)
                      .transformDown(
                          PartialFunctions.<LogicalPlan, LogicalPlan>of(
                              node -> isNamed(node, name), node -> standIn));
              try {
                return analyze(session, parsed);
              } catch (Exception e) {
                throw Exceptions.raise(withPosition(e, line, column));
              }
            }));
  }

  /** Returns the error with the position of its branch: Spark does not say which table it means. */
  private static Exception withPosition(Exception error, int line, int column) {
    if (!(error instanceof AnalysisException analysis)
        || analysis.line().isDefined()
        || analysis.getQueryContext().length > 0) return error;
    return analysis.withPosition(Origins.at(line, column));
  }

  private static boolean isNamed(LogicalPlan node, String name) {
    return node instanceof UnresolvedRelation relation
        && relation.multipartIdentifier().size() == 1
        && relation.multipartIdentifier().head().equals(name);
  }

  private static LogicalPlan parse(SparkSession session, String text) {
    try {
      return session.sessionState().sqlParser().parsePlan(text);
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  private static LogicalPlan analyze(SparkSession session, LogicalPlan plan) {
    return session
        .sessionState()
        .analyzer()
        .executeAndCheck(plan, new QueryPlanningTracker(Option.empty()));
  }

  SparkSession session() {
    return session;
  }

  LogicalPlan source() {
    return source;
  }

  /** Returns the commands of the branches, in the order in which they were added. */
  List<LogicalPlan> commands() {
    return commands;
  }
}
