package dev.jetsql.rewrites.changes;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.EqualKey;
import dev.jetsql.plans.Plans;
import dev.jetsql.plans.RewriteRule.Uses;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;

/** The changes of the rows of a join, from the changes of its sides. */
final class JoinChanges {
  private final Join join;
  private final JoinShape shape;
  private final List<Expression> leftKeys = new ArrayList<>();
  private final List<Expression> rightKeys = new ArrayList<>();
  private final List<Expression> leftConditions = new ArrayList<>();
  private final List<Expression> rightConditions = new ArrayList<>();
  private final List<Expression> conditions = new ArrayList<>();

  /** Reads a join of two streams. Throws Refusal. */
  JoinChanges(Join written) {
    join = (Join) Plans.withoutReplaceable(written);
    AggregateChanges.checkStable(join);
    shape = JoinShape.of(join.joinType());
    var parts = ExtractEquiJoinKeys$.MODULE$.unapply(join);
    if (shape == null)
      throw new AggregateChanges.Refusal(join.joinType().sql() + " join cannot take back rows");
    if (parts.isEmpty())
      throw new AggregateChanges.Refusal("the join compares no columns of both sides with =");
    Plans.list(parts.get()._2()).forEach(key -> leftKeys.add(normalized(key)));
    Plans.list(parts.get()._3()).forEach(key -> rightKeys.add(normalized(key)));
    if (parts.get()._4().isDefined())
      Plans.conjuncts(parts.get()._4().get()).forEach(this::addCondition);
  }

  /** Returns a key whose equal values have equal bytes. */
  private static Expression normalized(Expression key) {
    if (!UnsafeRowUtils.isBinaryStable(key.dataType()))
      throw new AggregateChanges.Refusal("values of " + Plans.text(key) + " have several forms");
    return EqualKey.of(key);
  }

  /** Adds a condition: of a side whose rows need a match, it excludes rows before the join. */
  private void addCondition(Expression each) {
    var columns = each.references();
    if (!shape.returnsUnmatchedRight() && columns.subsetOf(join.right().outputSet())) {
      rightConditions.add(each);
    } else if (!shape.returnsUnmatchedLeft() && columns.subsetOf(join.left().outputSet())) {
      leftConditions.add(each);
    } else if (each.exists(PythonUDF.class::isInstance)) {
      throw new AggregateChanges.Refusal(Plans.text(each) + " cannot be evaluated for single rows");
    } else {
      conditions.add(each);
    }
  }

  private static Expression all(List<Expression> conditions) {
    return conditions.stream().reduce(And::new).orElse(Literal$.MODULE$.apply(true));
  }

  Join join() {
    return join;
  }

  /**
   * Returns the changes of the join.
   *
   * @param left the changes of the left side
   * @param right the changes of the right side
   * @param sign the column with the sign of a row of the result
   */
  LogicalPlan over(LogicalPlan left, LogicalPlan right, Attribute sign, Uses uses) {
    var words = Plans.texts(Sequences.of(leftKeys));
    uses.add(
        "the rows of both sides of the join on %s are kept, and only the changes of its result go on; state: 1"
                .formatted(words)
            + " row for each different row of a side");
    var first = Plans.struct(join.left().output());
    var second = Plans.struct(join.right().output());
    var rows =
        new Union(
            Sequences.of(
                side(
                    new Filter(all(leftConditions), left),
                    leftKeys,
                    shape.returnsUnmatchedLeft(),
                    first,
                    new Literal(null, second.dataType())),
                side(
                    new Filter(all(rightConditions), right),
                    rightKeys,
                    shape.returnsUnmatchedRight(),
                    new Literal(null, first.dataType()),
                    second)),
            false,
            false);
    var state = new ArrayList<>(leftKeys);
    state.addAll(rightKeys);
    state.addAll(conditions);
    state.addAll(leftConditions);
    state.addAll(rightConditions);
    state.addAll(AggregateChanges.conditions(join.left()));
    state.addAll(AggregateChanges.conditions(join.right()));
    state.addAll(List.<Expression>copyOf(Plans.list(join.left().output())));
    state.addAll(List.<Expression>copyOf(Plans.list(join.right().output())));
    var columns = new ArrayList<>(Plans.list(join.left().output()));
    columns.addAll(Plans.list(join.right().output()));
    var output = new ArrayList<>(Plans.list(join.output()));
    output.add(sign);
    var processor =
        new JoinChangesProcessor(
            shape,
            words,
            leftKeys.size(),
            (StructType) first.dataType(),
            (StructType) second.dataType(),
            all(conditions),
            Sequences.of(columns),
            state);
    return processor.over(
        rows,
        IntStream.range(0, leftKeys.size()).boxed().toList(),
        Sequences.of(output),
        TimeMode.None(),
        OutputMode.Update());
  }

  /** Returns the changes of a side in the columns that the processor describes. */
  private static LogicalPlan side(
      LogicalPlan changes,
      List<Expression> keys,
      boolean returnsUnmatched,
      Expression first,
      Expression second) {
    var columns = new ArrayList<NamedExpression>();
    for (var key : keys) columns.add(Plans.alias(key, "k" + columns.size()));
    columns.add(Plans.alias((Expression) AggregateChanges.sign(changes), "sign"));
    columns.add(Plans.alias(first, "first"));
    columns.add(Plans.alias(second, "second"));
    LogicalPlan side = new Project(Sequences.of(columns), changes);
    for (int i = 0; i < keys.size() && !returnsUnmatched; i++)
      side = new Filter(new IsNotNull((Expression) side.output().apply(i)), side);
    return side;
  }
}
