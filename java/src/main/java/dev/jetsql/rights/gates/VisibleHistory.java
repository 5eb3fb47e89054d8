package dev.jetsql.rights.gates;

import dev.jetsql.common.LeafCommand;
import dev.jetsql.common.Sequences;
import dev.jetsql.rights.Rights;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.RunnableCommand;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * DESCRIBE HISTORY of a Delta table for a user who does not own it: its versions, without what the
 * statements of others have read.
 */
public final class VisibleHistory extends LeafCommand {
  private static final long serialVersionUID = 1L;

  private static final Set<String> VISIBLE =
      Set.of("version", "timestamp", "operation", "readVersion", "isolationLevel", "isBlindAppend");

  private final transient RunnableCommand history;

  /** Creates the statement; Spark copies it with this constructor. */
  public VisibleHistory(RunnableCommand history) {
    super(history);
    this.history = history;
  }

  static boolean isHistory(LogicalPlan plan) {
    return plan.getClass().getSimpleName().equals("DescribeDeltaHistoryCommand");
  }

  /** Returns what a user may see of a history. */
  static LogicalPlan of(
      org.apache.spark.sql.classic.SparkSession session,
      Rights rights,
      String user,
      LogicalPlan history) {
    var isOwner =
        FormatStatements.names(session, history).stream()
            .allMatch(name -> VisibleRows.owns(rights, user, name));
    return isOwner ? history : new VisibleHistory((RunnableCommand) history);
  }

  @Override
  public Seq<Attribute> output() {
    return ((LogicalPlan) history).output();
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    var names = CollectionConverters.asJava(output()).stream().map(Attribute::name).toList();
    var rows = new ArrayList<Row>();
    for (var row : CollectionConverters.asJava(history.run(session))) rows.add(visible(names, row));
    return Sequences.of(rows);
  }

  private static Row visible(List<String> names, Row row) {
    var values = new Object[row.length()];
    for (int i = 0; i < values.length; i++)
      values[i] = VISIBLE.contains(names.get(i)) ? row.get(i) : null;
    return RowFactory.create(values);
  }
}
