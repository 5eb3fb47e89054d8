package dev.jetsql.rewrites;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import scala.Option;

/**
 * Lets the watermark close groups by `window.end`, as it closes groups by the window.
 *
 * <p>Spark's optimizer loses the mark of the watermark on `window.end`, and gives `window.start` a
 * mark with which groups would close too early.
 */
final class WindowBounds {
  private static final int END = 1;

  private WindowBounds() {}

  /** Applies the rule, see {@link RewriteRule.Rewrite}. */
  static LogicalPlan apply(LogicalPlan query, OutputMode mode, Uses uses) {
    if (!mode.equals(OutputMode.Append())) return query;
    var marks = new HashMap<ExprId, Metadata>();
    var marked =
        Plans.transformStreams(
            query,
            node -> {
              var prepared =
                  node instanceof Aggregate aggregate ? withNamedKeys(aggregate, marks) : node;
              return mark(prepared, marks);
            });
    if (marks.values().stream().anyMatch(each -> each.contains(Plans.WATERMARK)))
      uses.add("groups by window.end are closed by the watermark");
    return marks.isEmpty() ? query : marked;
  }

  /**
   * Moves grouping expressions such as `window.end` into a projection, where they can be marked.
   */
  private static LogicalPlan withNamedKeys(Aggregate aggregate, Map<ExprId, Metadata> marks) {
    var names = new ArrayList<Alias>();
    for (var key : Plans.list(aggregate.groupingExpressions())) {
      if (isBound(key)) {
        var field = (GetStructField) key;
        names.add(Plans.alias(key, field.extractFieldName(), NamedExpression$.MODULE$.newExprId()));
      }
    }
    if (names.isEmpty()) return aggregate;
    var columns = new ArrayList<NamedExpression>(Plans.list(aggregate.child().output()));
    columns.addAll(names);
    var child = mark(new Project(Sequences.of(columns), aggregate.child()), marks);
    var keyed =
        (Aggregate)
            aggregate.transformExpressions(
                PartialFunctions.<Expression, Expression>of(
                    each -> names.stream().anyMatch(name -> name.child().semanticEquals(each)),
                    each ->
                        names.stream()
                            .filter(name -> name.child().semanticEquals(each))
                            .findFirst()
                            .orElseThrow()
                            .toAttribute()));
    return new Aggregate(
        keyed.groupingExpressions(), keyed.aggregateExpressions(), child, aggregate.hint());
  }

  private static boolean isBound(Expression expression) {
    return expression instanceof GetStructField field && Plans.hasWatermark(field.child());
  }

  private static LogicalPlan mark(LogicalPlan node, Map<ExprId, Metadata> marks) {
    return node.transformExpressions(
        PartialFunctions.<Expression, Expression>of(
            each -> isMarkable(each, marks), each -> mark(each, marks)));
  }

  private static boolean isMarkable(Expression node, Map<ExprId, Metadata> marks) {
    if (node instanceof AttributeReference column) return marks.containsKey(column.exprId());
    if (!(node instanceof Alias alias)) return false;
    return isBound(alias.child())
        || (alias.child() instanceof Attribute column && marks.containsKey(column.exprId()));
  }

  private static Expression mark(Expression node, Map<ExprId, Metadata> marks) {
    if (node instanceof AttributeReference column)
      return column.withMetadata(marks.get(column.exprId()));
    var alias = (Alias) node;
    var metadata =
        alias.child() instanceof GetStructField field
            ? metadata(field)
            : marks.get(((Attribute) alias.child()).exprId());
    marks.put(alias.exprId(), metadata);
    return new Alias(
        alias.child(),
        alias.name(),
        alias.exprId(),
        alias.qualifier(),
        Option.apply(metadata),
        Sequences.of());
  }

  private static Metadata metadata(GetStructField field) {
    if (field.ordinal() != END) return Metadata.empty();
    var delay = ((Attribute) field.child()).metadata().getLong(Plans.WATERMARK);
    return new MetadataBuilder().putLong(Plans.WATERMARK, delay).build();
  }
}
