package dev.jetsql.lineage;

import dev.jetsql.lineage.Dependencies.Kind;
import dev.jetsql.plans.Plans;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Exists;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.KnownNullable;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.RaiseError;
import org.apache.spark.sql.catalyst.expressions.RankLike;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.expressions.aggregate.Last;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.MaxMinBy;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.PivotFirst;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;

/** The columns of tables on which the value of an expression depends. */
final class ValueLineage {
  /** The names of the classes of functions whose results do not show their arguments. */
  private static final Set<String> MASKING =
      Set.of("Md5", "Sha1", "Sha2", "Crc32", "Murmur3Hash", "XxHash64", "HiveHash", "Mask");

  private final ColumnLineage plans;
  private final ColumnLineage.Scope scope;
  private final Map<Object, Dependencies> common = new HashMap<>();

  ValueLineage(ColumnLineage plans, ColumnLineage.Scope scope) {
    this.plans = plans;
    this.scope = scope;
  }

  Dependencies of(Expression value) {
    if (value instanceof Attribute column) return scope.get(column.exprId());
    if (isSame(value)) return of(value.children().head());
    if (value instanceof OuterReference outer) return of((Expression) outer.e());
    if (value instanceof CaseWhen || value instanceof If) return ofCondition(value);
    if (value instanceof AggregateExpression aggregate) return ofAggregate(aggregate);
    if (value instanceof WindowExpression window) return ofWindow(window);
    if (value instanceof SubqueryExpression subquery) return ofSubquery(subquery);
    if (value instanceof CreateNamedStruct struct) return ofStruct(struct);
    if (value instanceof GetStructField field && field.child().dataType() instanceof StructType of)
      return of(field.child()).field(of.fields()[field.ordinal()].name());
    if (value instanceof CommonExpressionRef reference)
      return common.getOrDefault(reference.id(), new Dependencies());
    if (value instanceof With with) {
      for (var each : Plans.list(with.defs())) common.put(each.id(), of(each.child()));
      return of(with.child());
    }
    if (value instanceof RuntimeReplaceable call && !isMasking(value))
      return of(call.replacement());
    return computed(Plans.list(value.children()), isMasking(value));
  }

  private static boolean isMasking(Expression value) {
    return MASKING.contains(value.getClass().getSimpleName());
  }

  /** Returns whether an expression returns the value of its only argument. */
  private static boolean isSame(Expression value) {
    return value instanceof Alias
        || value instanceof KnownNotNull
        || value instanceof KnownNullable
        || value instanceof AssertNotNull
        || (value instanceof Cast cast && isWidening(cast));
  }

  /** Returns whether a cast keeps the value: between equal types, and to a wider number. */
  private static boolean isWidening(Cast cast) {
    var from = cast.child().dataType();
    return from.sameType(cast.dataType())
        || (from instanceof NumericType
            && cast.dataType() instanceof NumericType
            && Cast$.MODULE$.canUpCast(from, cast.dataType()));
  }

  private Dependencies computed(List<? extends Expression> arguments, boolean masks) {
    var made = new Dependencies();
    for (var each : arguments) made.add(of(each).direct(Kind.TRANSFORMATION, masks));
    return made;
  }

  private Dependencies ofCondition(Expression value) {
    var made = new Dependencies();
    // Conditions and values alternate, and the last value has no condition.
    var parts = Plans.list(value.children());
    // A check of a value chooses none.
    if (parts.size() == 3 && raises(parts.get(1))) return of(parts.get(2));
    for (int i = 0; i < parts.size(); i++) {
      var part = of(parts.get(i));
      var isCondition = i % 2 == 0 && i < parts.size() - 1;
      made.add(
          isCondition ? part.indirect(Kind.CONDITIONAL) : part.direct(Kind.TRANSFORMATION, false));
    }
    return made;
  }

  private static boolean raises(Expression value) {
    return value instanceof Cast cast ? raises(cast.child()) : value instanceof RaiseError;
  }

  private Dependencies ofAggregate(AggregateExpression aggregate) {
    var made = ofFunction(aggregate.aggregateFunction());
    if (aggregate.filter().isDefined())
      made.addToFields(of(aggregate.filter().get()).indirect(Kind.CONDITIONAL));
    return made;
  }

  private Dependencies ofFunction(AggregateFunction function) {
    var arguments = Plans.list(function.children());
    if (function instanceof MaxMinBy) {
      var made = of(arguments.get(0)).chosen();
      made.addToFields(of(arguments.get(1)).direct(Kind.AGGREGATION, false));
      return made;
    }
    if (function instanceof First || function instanceof Last) return of(arguments.get(0)).chosen();
    if (function instanceof Max || function instanceof Min) return of(arguments.get(0)).chosen();
    if (function instanceof PivotFirst pivot) {
      var made = of(pivot.valueColumn()).direct(Kind.AGGREGATION, false);
      made.add(of(pivot.pivotColumn()).indirect(Kind.CONDITIONAL));
      return made;
    }
    var made = new Dependencies();
    for (var each : arguments) made.add(of(each));
    return made.direct(Kind.AGGREGATION, function instanceof Count);
  }

  private Dependencies ofWindow(WindowExpression window) {
    var made = new Dependencies();
    var function = window.windowFunction();
    if (function instanceof AggregateExpression aggregate) made.add(ofAggregate(aggregate));
    // The arguments of a rank are those of ORDER BY.
    else if (!(function instanceof RankLike))
      made.add(computed(Plans.list(function.children()), false));
    for (var each : Plans.list(window.windowSpec().partitionSpec()))
      made.add(of(each).indirect(Kind.WINDOW));
    for (var each : Plans.list(window.windowSpec().orderSpec()))
      made.add(of(each.child()).indirect(Kind.WINDOW));
    return made;
  }

  private Dependencies ofSubquery(SubqueryExpression subquery) {
    var result = plans.read(subquery.plan(), scope);
    var made = new Dependencies();
    if (subquery instanceof Exists) return made;
    for (var column : Plans.list(subquery.plan().output()))
      made.add(result.get(column.exprId()).direct(Kind.TRANSFORMATION, false));
    return made;
  }

  private Dependencies ofStruct(CreateNamedStruct struct) {
    var fields = new LinkedHashMap<String, Dependencies>();
    var names = struct.dataType().fieldNames();
    var values = Plans.list(struct.valExprs());
    for (int i = 0; i < names.length; i++) fields.put(names[i], of(values.get(i)));
    return Dependencies.ofStruct(fields);
  }
}
