package dev.jetsql.records;

import dev.jetsql.common.Sequences;
import dev.jetsql.plans.NodeExpression;
import dev.jetsql.plans.Plans;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.immutable.IndexedSeq;

/**
 * A struct as JSON in UTF-8; NULL for NULL. The bytes are those of Spark's `to_json`, which makes a
 * string of them first, and of a struct an object for each value.
 */
public final class JsonText extends NodeExpression {
  private static final long serialVersionUID = 1L;

  private final Expression struct;
  private final Map<String, String> options;
  private final String zone;
  private transient JsonTexts evaluated;

  public JsonText(Expression struct, Map<String, String> options, String zone) {
    super(Sequences.of(struct), options, zone);
    this.struct = struct;
    this.options = options;
    this.zone = zone;
  }

  /**
   * Returns the column of the texts.
   *
   * @param options the options of `to_json`
   * @param zone the time zone of the session
   */
  public static Column of(Column struct, Map<String, String> options, String zone) {
    return ExpressionUtils.column(
        new JsonText(ExpressionUtils.expression(struct), new TreeMap<>(options), zone));
  }

  private JsonTexts texts() {
    return new JsonTexts((StructType) struct.dataType(), options, zone);
  }

  @Override
  public Object eval(InternalRow row) {
    if (evaluated == null) evaluated = texts();
    var value = (InternalRow) struct.eval(row);
    return value == null ? null : evaluated.text(value);
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    var texts = texts();
    var json = context.addReferenceObj("json", texts, JsonTexts.class.getName());
    if (struct instanceof CreateNamedStruct fields && texts.hasMethods()) {
      var text = "byte[] %s = %s.end();\n".formatted(code.value(), json);
      var all = json + ".begin();\n" + added(fields, json, context) + "\n" + text;
      return code.copy(block(all), FalseLiteral$.MODULE$, code.value());
    }
    ExprCode row = struct.genCode(context);
    var text =
        "boolean %s = %s;\nbyte[] %s = %s ? null : %s.text(%s);\n"
            .formatted(code.isNull(), row.isNull(), code.value(), row.isNull(), json, row.value());
    return code.copy(row.code().$plus(block(text)), code.isNull(), code.value());
  }

  /** Returns the code that adds the fields, in functions of their own if they are many. */
  private static String added(CreateNamedStruct fields, String json, CodegenContext context) {
    var values = Plans.list(fields.valExprs());
    List<String> steps = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      ExprCode value = values.get(i).genCode(context);
      steps.add(
          "%s\nif (%s) {\n%s.addNull(%d);\n} else {\n%s.%s(%d, %s);\n}\n"
              .formatted(
                  value.code(),
                  value.isNull(),
                  json,
                  i,
                  json,
                  JsonTexts.method(values.get(i).dataType()),
                  i,
                  value.value()));
    }
    return context.splitExpressionsWithCurrentInputs(
        Sequences.of(steps),
        "addFields",
        Sequences.<Tuple2<String, String>>of(),
        "void",
        context.splitExpressionsWithCurrentInputs$default$5(),
        context.splitExpressionsWithCurrentInputs$default$6());
  }

  private static Block block(String code) {
    return new CodeBlock(Sequences.of(code), Sequences.<JavaCode>of());
  }

  @Override
  public DataType dataType() {
    return DataTypes.BinaryType;
  }

  @Override
  public boolean nullable() {
    return struct.nullable();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new JsonText(children.head(), options, zone);
  }

  @Override
  public String prettyName() {
    return "json_text";
  }
}
