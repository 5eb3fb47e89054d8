package dev.jetsql.flink;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Explode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.TimeWindow;
import org.apache.spark.sql.catalyst.expressions.TimeWindow$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import scala.Option;

/**
 * Resolves the windows of TUMBLE and HOP: over TIMESTAMP to windows that begin at local times, as
 * Flink's do, and otherwise to Spark's window(), whose windows begin at times in UTC.
 */
public final class ResolveWindows extends Rule<LogicalPlan> {
  /** The setting of a job that an earlier release created, whose windows begin at times in UTC. */
  private static final String LOCAL = "spark.jetsql.localWindows";

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsUp(
        PartialFunctions.<LogicalPlan, LogicalPlan>of(
            node ->
                node instanceof UnresolvedWindows windows
                    && windows.child().resolved()
                    && windows.time().resolved(),
            node -> resolved((UnresolvedWindows) node)));
  }

  private static LogicalPlan resolved(UnresolvedWindows node) {
    var lengths = node.lengths();
    var windows = new LocalWindows(zone(), lengths.size(), lengths.slide(), lengths.offset());
    if (node.time().dataType().equals(DataTypes.TimestampType)
        && isLocal()
        && !windows.areThoseOfUtc()) return withWindows(node, windows);
    var window = new TimeWindow(node.time(), lengths.size(), lengths.slide(), lengths.offset());
    return withColumn(node.child(), Plans.alias(window, WindowFunctions.WINDOW));
  }

  private static ZoneId zone() {
    return ZoneId.of(SQLConf.get().sessionLocalTimeZone(), ZoneId.SHORT_IDS);
  }

  private static boolean isLocal() {
    return !SQLConf.get().getConfString(LOCAL, "true").equals("false");
  }

  private static LogicalPlan withWindows(UnresolvedWindows node, LocalWindows windows) {
    var rows = new Filter(new IsNotNull(node.time()), node.child());
    var window =
        new AttributeReference(
            WindowFunctions.WINDOW,
            WindowsOfTime.WINDOW,
            false,
            metadata(node.time()),
            NamedExpression$.MODULE$.newExprId(),
            Sequences.of());
    return new Generate(
        new Explode(new WindowsOfTime(node.time(), windows)),
        Sequences.of(),
        false,
        Option.empty(),
        Sequences.of(List.<Attribute>of(window)),
        rows);
  }

  /** Returns the metadata of a window, from which Spark knows its watermark. */
  private static Metadata metadata(Expression time) {
    var builder = new MetadataBuilder();
    if (time instanceof Attribute column) builder.withMetadata(column.metadata());
    return builder.putBoolean(TimeWindow$.MODULE$.marker(), true).build();
  }

  private static LogicalPlan withColumn(LogicalPlan rows, NamedExpression column) {
    var columns = new ArrayList<NamedExpression>(Plans.list(rows.output()));
    columns.add(column);
    return new Project(Sequences.of(columns), rows);
  }
}
