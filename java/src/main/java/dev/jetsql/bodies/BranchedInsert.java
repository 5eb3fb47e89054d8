package dev.jetsql.bodies;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Origins;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.plans.JobColumns;
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
  private final JobColumns tables;
  private final List<Branch> commands = new ArrayList<>();

  /**
   * The resolved INSERT of a branch.
   *
   * @param columns the columns of its table that it writes, a JSON array; null for all
   */
  record Branch(LogicalPlan command, String columns) {}

  private BranchedInsert(SparkSession session, LogicalPlan source, JobColumns tables) {
    this.session = session;
    this.source = source;
    this.tables = tables;
    this.standIn = Branches.standIn(source);
  }

  /**
   * Resolves the source in the session. Throws Spark's errors, with positions in `text`.
   *
   * @param text the query of the source
   * @param tables the columns of the tables that the body reads, see `JobColumns`; null for all
   */
  public static BranchedInsert ofSource(SparkSession session, String text, String tables) {
    var read = new JobColumns(tables);
    var source =
        JobBody.inSession(session, () -> read.call(() -> analyze(session, parse(session, text))));
    return new BranchedInsert(session, source, read);
  }

  /**
   * Resolves the INSERT of a branch. Throws Spark's errors, with positions in `text`.
   *
   * @param text an INSERT that reads from `name`, which stands for the source
   * @param line the line of the table in `text`, from 1, for errors without a position
   * @param column its column, from 0
   * @param columns the columns of its table that it writes, a JSON array; null for all
   */
  public void add(String text, String name, int line, int column, String columns) {
    var command = resolve(text, name, line, column, columns);
    commands.add(new Branch(command, columns));
  }

  private LogicalPlan resolve(String text, String name, int line, int column, String columns) {
    return JobBody.inSession(
        session,
        () ->
            tables.call(
                () -> {
                  var parsed =
                      WrittenColumns.named(parse(session, text), columns)
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

  JobColumns tables() {
    return tables;
  }

  /** Returns the commands of the branches, in the order in which they were added. */
  List<Branch> commands() {
    return commands;
  }
}
