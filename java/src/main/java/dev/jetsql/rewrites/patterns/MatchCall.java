package dev.jetsql.rewrites.patterns;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.PlaceholderExpression;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * What an expression of MATCH_RECOGNIZE reads of the match, while Spark's analyzer resolves the
 * expression. {@link MatchValues} then replaces it.
 */
final class MatchCall extends PlaceholderExpression {
  private static final long serialVersionUID = 1L;

  private final Kind kind;
  private final String variable;

  /** The functions of MATCH_RECOGNIZE. */
  enum Kind {
    /** `A.column`: the value in the last row of a variable. */
    COLUMN,
    FIRST,
    LAST,
    PREV,
    NEXT,
    CLASSIFIER,
    MATCH_NUMBER,
    /** An aggregate over the rows of the match up to the current one. */
    RUNNING,
    /** An aggregate over all rows of the match. */
    FINAL
  }

  /**
   * Creates a call.
   *
   * @param variable the variable of COLUMN and CLASSIFIER, or null for all rows
   * @param arguments the value, and the offset if there is one
   */
  MatchCall(Kind kind, String variable, List<Expression> arguments) {
    this(kind, variable, Sequences.of(arguments));
  }

  private MatchCall(Kind kind, String variable, Seq<Expression> arguments) {
    super(arguments, kind, variable);
    this.kind = kind;
    this.variable = variable;
  }

  Kind kind() {
    return kind;
  }

  /** Returns the variable, or null for all rows. */
  String variable() {
    return variable;
  }

  Expression value() {
    return children().head();
  }

  /** Returns the offset, or null. */
  Expression offset() {
    return children().size() > 1 ? children().apply(1) : null;
  }

  boolean isPhysical() {
    return kind == Kind.PREV || kind == Kind.NEXT;
  }

  @Override
  public DataType dataType() {
    return switch (kind) {
      case CLASSIFIER -> DataTypes.StringType;
      case MATCH_NUMBER -> DataTypes.LongType;
      default -> value().dataType();
    };
  }

  @Override
  public boolean nullable() {
    return kind != Kind.MATCH_NUMBER;
  }

  @Override
  public String sql() {
    if (kind == Kind.COLUMN) return variable + "." + value().sql();
    var texts = new ArrayList<String>();
    if (kind == Kind.CLASSIFIER && variable != null) texts.add(variable);
    for (var each : Plans.list(children())) texts.add(each.sql());
    return kind + "(" + String.join(", ", texts) + ")";
  }

  @Override
  public String toString() {
    return sql();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new MatchCall(kind, variable, children);
  }
}
