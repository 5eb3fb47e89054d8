package dev.jetsql.watchdog;

import dev.jetsql.plans.PassThroughExec;
import java.io.Serializable;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * Passes the rows of its child on, and ends a task that Spark has cancelled. Spark's operators do
 * not check that for each row.
 */
public final class InterruptibleExec extends PassThroughExec {
  private static final long serialVersionUID = 1L;

  /** Creates the operator. */
  public InterruptibleExec(SparkPlan child) {
    super(child);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child()
        .execute()
        .mapPartitions(new Check(), true, ClassTag$.MODULE$.apply(InternalRow.class));
  }

  /** The function of each task. */
  private static final class Check
      extends AbstractFunction1<Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> rows) {
      return new InterruptibleIterator<>(TaskContext.get(), rows);
    }
  }

  @Override
  public String nodeName() {
    return "Interruptible";
  }

  @Override
  public SparkPlan withNewChildInternal(SparkPlan newChild) {
    return new InterruptibleExec(newChild);
  }
}
