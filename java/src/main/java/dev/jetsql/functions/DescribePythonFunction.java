package dev.jetsql.functions;

import dev.jetsql.common.LeafCommand;
import dev.jetsql.common.Sequences;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** DESCRIBE FUNCTION for a function in Python, with the column that Spark's statement has. */
public final class DescribePythonFunction extends LeafCommand {
  private static final StructType COLUMNS = StructType.fromDDL("function_desc STRING NOT NULL");

  private final Seq<Attribute> output;
  private final List<String> lines;

  public DescribePythonFunction(Seq<Attribute> output, List<String> lines) {
    super(output, lines);
    this.output = output;
    this.lines = lines;
  }

  static DescribePythonFunction of(PythonFunction function, boolean extended) {
    var lines = new ArrayList<>(function.description());
    if (extended) lines.addAll(function.extended());
    var output =
        Sequences.of(
            List.<Attribute>copyOf(
                CollectionConverters.asJava(DataTypeUtils.toAttributes(COLUMNS))));
    return new DescribePythonFunction(output, lines);
  }

  @Override
  public Seq<Row> run(SparkSession session) {
    return Sequences.of(lines.stream().map(RowFactory::create).toList());
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }
}
