package dev.jetsql.expectations;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.NodeExpression;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.IndexedSeq;

/**
 * The rules that a row violates, a bit for each: those whose condition is not true. It counts the
 * row, so it is evaluated once for each row. The last child is the row as text.
 */
public final class CheckRow extends NodeExpression {
  private static final long serialVersionUID = 1L;

  private final List<Expression> conditions;
  private final Expression row;
  private final List<String> names;
  private final long failing;
  private final ViolationCounts counts;

  /**
   * Creates the expression.
   *
   * @param children the conditions of the rules, and the row as text
   * @param names the names of the rules
   * @param failing a bit for each rule whose violation is an error
   */
  CheckRow(List<Expression> children, List<String> names, long failing, ViolationCounts counts) {
    super(Sequences.of(children), names, failing, counts);
    this.conditions = List.copyOf(children.subList(0, children.size() - 1));
    this.row = children.get(children.size() - 1);
    this.names = List.copyOf(names);
    this.failing = failing;
    this.counts = counts;
  }

  /** Returns the number of violated rules as bits, after it has counted the row. */
  @Override
  public Object eval(InternalRow input) {
    long violated = 0;
    for (int i = 0; i < conditions.size(); i++)
      if (!Boolean.TRUE.equals(conditions.get(i).eval(input))) violated |= 1L << i;
    counts.count(violated);
    if ((violated & failing) != 0) throw failure(violated, String.valueOf(row.eval(input)));
    return violated;
  }

  /** Returns the error of a row. violated: the rules that it violates */
  public ViolatedExpectation failure(long violated, String text) {
    return new ViolatedExpectation(names.get(Long.numberOfTrailingZeros(violated & failing)), text);
  }

  /** Counts a row. Generated code calls it. */
  public void count(long violated) {
    counts.count(violated);
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    var check = context.addReferenceObj("check", this, CheckRow.class.getName());
    var steps = new StringBuilder("long %s = 0L;\n".formatted(code.value()));
    for (int i = 0; i < conditions.size(); i++) {
      var condition = conditions.get(i).genCode(context);
      steps.append(
          "%s\nif (%s || !%s) %s |= %dL;\n"
              .formatted(
                  condition.code(), condition.isNull(), condition.value(), code.value(), 1L << i));
    }
    steps.append("%s.count(%s);\n".formatted(check, code.value()));
    if (failing != 0) {
      var text = row.genCode(context);
      steps.append(
          "if ((%s & %dL) != 0L) {\n%s\nthrow %s.failure(%s, String.valueOf(%s));\n}\n"
              .formatted(code.value(), failing, text.code(), check, code.value(), text.value()));
    }
    var block = new CodeBlock(Sequences.of(steps.toString()), Sequences.<JavaCode>of());
    return code.copy(block, FalseLiteral$.MODULE$, code.value());
  }

  @Override
  public boolean deterministic() {
    return false; // the optimizer must not evaluate it twice, or not at all
  }

  @Override
  public DataType dataType() {
    return DataTypes.LongType;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new CheckRow(new ArrayList<>(Plans.list(children)), names, failing, counts);
  }

  @Override
  public String prettyName() {
    return "violated_rules";
  }
}
