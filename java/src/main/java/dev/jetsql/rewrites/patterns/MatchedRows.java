package dev.jetsql.rewrites.patterns;

import dev.jetsql.plans.Plans;
import dev.jetsql.plans.UnaryPlan;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/** The rows that a MATCH_RECOGNIZE returns. */
public final class MatchedRows extends UnaryPlan {
  private final MatchPlan match;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> results;

  /**
   * Creates a node. Spark copies plans with the only public constructor.
   *
   * @param inputs the columns of `child` that the match reads, in its order
   * @param results the columns of the result
   */
  public MatchedRows(
      LogicalPlan child, MatchPlan match, Seq<Attribute> inputs, Seq<Attribute> results) {
    super(child, match, inputs, results);
    this.match = match;
    this.inputs = inputs;
    this.results = results;
  }

  MatchPlan match() {
    return match;
  }

  Seq<Attribute> inputs() {
    return inputs;
  }

  /** Where a column of the result comes from. */
  public enum ResultKind {
    /** The column of a row. */
    COLUMN,
    /** A measure of single rows. */
    VALUE,
    /** A measure with an aggregate over rows. */
    AGGREGATE
  }

  /** Returns the kind of a column of the result. */
  public ResultKind resultKind(int result) {
    var measure = measure(result);
    if (measure == null) return ResultKind.COLUMN;
    var isAggregate =
        MatchValues.used(measure).stream()
            .anyMatch(value -> match.values().get(value).kind() == MatchValue.Kind.AGGREGATE);
    return isAggregate ? ResultKind.AGGREGATE : ResultKind.VALUE;
  }

  /** Returns the columns of `child` of which a column of the result is made. */
  public List<Attribute> resultColumns(int result) {
    var measure = measure(result);
    if (measure != null) return readColumns(measure);
    var isBefore = result < match.before().size();
    var column =
        isBefore
            ? match.before().get(result)
            : match.after().get(result - match.before().size() - match.measures().size());
    return List.of(inputs.apply(column));
  }

  /** Returns the columns of PARTITION BY. */
  public List<Attribute> keyColumns() {
    return match.keys().stream().map(inputs::apply).toList();
  }

  /** Returns the columns of ORDER BY. */
  public List<Attribute> orderColumns() {
    return match.orderColumns().stream().map(inputs::apply).toList();
  }

  /** Returns the columns that the conditions of DEFINE read. */
  public List<Attribute> conditionColumns() {
    var read = new LinkedHashSet<Attribute>();
    for (var condition : match.conditions())
      if (condition != null) read.addAll(readColumns(condition));
    return List.copyOf(read);
  }

  private Expression measure(int result) {
    var measure = result - match.before().size();
    return measure < 0 || measure >= match.measures().size() ? null : match.measures().get(measure);
  }

  private List<Attribute> readColumns(Expression bound) {
    var read = new LinkedHashSet<Attribute>();
    for (int value : MatchValues.used(bound)) {
      var expression = match.values().get(value).expression();
      if (expression == null) continue;
      for (int column : MatchValues.used(expression)) addInput(column, read);
      for (var column : Plans.list(expression.references().toSeq()))
        addInput(match.inputs().indexOf(column), read);
    }
    return List.copyOf(read);
  }

  /** Adds a column of the rows; the last one, with the name of the variable, is none of `child`. */
  private void addInput(int column, Set<Attribute> read) {
    if (column >= 0 && column < inputs.size()) read.add(inputs.apply(column));
  }

  @Override
  public Seq<Attribute> output() {
    return results;
  }

  @Override
  public LogicalPlan withNewChildInternal(LogicalPlan child) {
    return new MatchedRows(child, match, inputs, results);
  }

  @Override
  public String nodeName() {
    return "MatchedRows";
  }

  @Override
  public String simpleString(int maxFields) {
    return "MatchedRows [%s], %s".formatted(Plans.texts(inputs), match.meaning());
  }
}
