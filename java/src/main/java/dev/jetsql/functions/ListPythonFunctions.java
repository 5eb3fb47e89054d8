package dev.jetsql.functions;

import dev.jetsql.common.LeafCommand;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.TreeSet;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.util.StringUtils;
import org.apache.spark.sql.execution.command.ShowFunctionsCommand;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** SHOW FUNCTIONS: Spark's functions, and those in Python of the same schema. */
public final class ListPythonFunctions extends LeafCommand {
  private final ShowFunctionsCommand spark;

  public ListPythonFunctions(ShowFunctionsCommand spark) {
    super(spark);
    this.spark = spark;
  }

  /** The rule that puts this command in place of Spark's. */
  public static final class Replace extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      if (PythonFunctions.isEmpty()) return plan;
      return plan.resolveOperatorsDown(
          PartialFunctions.of(
              ShowFunctionsCommand.class::isInstance,
              node -> new ListPythonFunctions((ShowFunctionsCommand) node)));
    }
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    var names = new TreeSet<String>();
    CollectionConverters.asJava(spark.run(session)).forEach(row -> names.add(row.getString(0)));
    if (spark.showUserFunctions()) {
      var own = new ArrayList<String>();
      for (var function : PythonFunctions.all()) {
        if (function.schema().equalsIgnoreCase(spark.db())) own.add(function.name());
      }
      var pattern = spark.pattern().isDefined() ? spark.pattern().get() : "*";
      for (var name :
          CollectionConverters.asJava(StringUtils.filterPattern(Sequences.of(own), pattern))) {
        names.add(PythonFunctions.CATALOG + "." + spark.db() + "." + name);
      }
    }
    return Sequences.of(names.stream().map(RowFactory::create).toList());
  }

  @Override
  public Seq<Attribute> output() {
    return spark.output();
  }
}
