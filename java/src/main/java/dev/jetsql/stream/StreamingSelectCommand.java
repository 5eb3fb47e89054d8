package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asScala;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.LeafCommand;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.Seq;

/**
 * A streaming select with a limit as a command of Spark, which keeps its rows in memory until the
 * client has fetched them.
 */
public final class StreamingSelectCommand extends LeafCommand {
  private static final long serialVersionUID = 1L;
  private static final long MAX_ROWS = 100000;

  private final LogicalPlan plan;

  public StreamingSelectCommand(LogicalPlan plan) {
    super(new Object[] {plan});
    this.plan = plan;
  }

  @Override
  public Seq<Attribute> output() {
    return plan.output();
  }

  @Override
  public Seq<Row> run(org.apache.spark.sql.SparkSession session) {
    try {
      // In the client's own session, the analyzer would turn the plan into this command again.
      SparkSession cloned = ((SparkSession) session).cloneSession();
      return asScala(rows(StreamingSelects.create(Dataset.ofRows(cloned, plan), false))).toSeq();
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  private static List<Row> rows(StreamingCursor cursor) throws Exception {
    if (cursor.limit() > MAX_ROWS) throw tooLarge(cursor.limit());
    List<Row> rows = new ArrayList<>();
    try {
      cursor.start();
      for (var part = cursor.nextPart(); part != null; part = cursor.nextPart())
        rows.addAll(part.collectAsList());
    } finally {
      cursor.close();
    }
    return rows;
  }

  private static JetSqlException tooLarge(long limit) {
    return JetSqlException.of(
        "STREAM_LIMIT_TOO_HIGH",
        "54000",
        "Cannot run a SELECT over a stream with LIMIT "
            + limit
            + " for a JDBC client: the engine keeps its rows in memory, at most "
            + MAX_ROWS
            + ". Lower the limit, use another client, or write CREATE JOB name AS INSERT INTO ..."
            + " and read the job's table.");
  }
}
