package dev.jetsql.lookup;

import dev.jetsql.common.Exceptions;
import java.io.Serializable;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.RowDataSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCPartition;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRDD;
import scala.collection.immutable.Seq;

/** Reads the rows of a JDBC table's side of a join that a condition in SQL selects. */
final class TableRows implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final String INVALID_VALUE = "22P02"; // the SQLSTATE of PostgreSQL

  private final JDBCRDD table;
  private final ArrayList<Step> steps;

  /** A filter or a projection over the input's columns; the filter is null for a projection. */
  private record Step(Expression filter, Seq<Expression> columns, Seq<Attribute> input)
      implements Serializable {}

  private TableRows(JDBCRDD table, List<Step> steps) {
    this.table = table;
    this.steps = new ArrayList<>(steps);
  }

  /** Returns the rows of Spark's plan of the side, which has only filters and projections. */
  static TableRows of(SparkPlan side) {
    var steps = new ArrayList<Step>();
    for (var node = side; ; node = node.children().head()) {
      if (node instanceof RowDataSourceScanExec scan) {
        steps.add(0, project(expressions(scan.output()), scan));
        return new TableRows((JDBCRDD) scan.rdd(), steps);
      }
      if (node instanceof FilterExec filter)
        steps.add(0, new Step(filter.condition(), null, filter.child().output()));
      if (node instanceof ProjectExec project)
        steps.add(0, project(expressions(project.projectList()), project.child()));
    }
  }

  private static Step project(Seq<Expression> columns, SparkPlan input) {
    return new Step(null, columns, input.output());
  }

  @SuppressWarnings("unchecked") // both are expressions
  private static Seq<Expression> expressions(Seq<?> columns) {
    return (Seq<Expression>) columns;
  }

  /** Returns the reader of a task. */
  Reader reader() {
    return new Reader(steps);
  }

  /** Reads rows in one task. */
  final class Reader {
    private Consumer<InternalRow> pipeline;
    private Consumer<InternalRow> target;

    private Reader(List<Step> steps) {
      pipeline = row -> target.accept(row);
      for (int i = steps.size() - 1; i >= 0; i--) pipeline = compile(steps.get(i), pipeline);
    }

    private static Consumer<InternalRow> compile(Step step, Consumer<InternalRow> next) {
      if (step.filter() == null) {
        var projection = UnsafeProjection.create(step.columns(), step.input());
        return row -> next.accept(projection.apply(row));
      }
      var filter = Predicate$.MODULE$.create(step.filter(), step.input());
      filter.initialize(0);
      return row -> {
        if (filter.eval(row)) next.accept(row);
      };
    }

    /**
     * Calls the consumer at least with each row that a condition selects. Rows are reused. A
     * condition that the database cannot read selects all rows: a key may be no value of a column
     * that Spark reads as text, such as a UUID.
     */
    void read(String condition, Consumer<InternalRow> consumer) {
      target = consumer;
      try {
        send(condition);
      } catch (Exception e) { // a checked one, too: Spark's methods are Scala's
        if (condition == null || !isInvalidValue(e)) throw Exceptions.raise(e);
        send(null);
      }
    }

    private static boolean isInvalidValue(Throwable error) {
      for (var cause = error; cause != null; cause = cause.getCause()) {
        if (cause instanceof SQLException sql && INVALID_VALUE.equals(sql.getSQLState()))
          return true;
      }
      return false;
    }

    private void send(String condition) {
      var rows = table.compute(new JDBCPartition(condition, 0), TaskContext.get());
      while (rows.hasNext()) pipeline.accept(rows.next());
    }
  }
}
