package dev.jetsql.jdbc;

import dev.jetsql.common.PartialFunctions;
import dev.jetsql.versions.CaseClasses;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Rules by which Spark reads and writes tables of PostgreSQL without values of `java.sql`. */
public final class ExactTables {
  private static final String DATABASE_TYPE = "jdbcClientType"; // Spark's metadata of a column
  private static final String TIME = "logical_time_type"; // of a TIME that is read as a timestamp

  private ExactTables() {}

  /**
   * Reads dates and timestamps as the numbers that they are in Spark's rows: as INT and BIGINT. The
   * columns of the query keep their types.
   *
   * <p>This rule is one of the optimizer: Spark compares the relations of analyzed queries, to find
   * cached ones.
   */
  public static final class Reads extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      return plan.transform(PartialFunctions.of(Reads::isReplaced, Reads::replace));
    }

    private static boolean isReplaced(LogicalPlan node) {
      return node instanceof LogicalRelation table
          && table.relation() instanceof JDBCRelation jdbc
          && ExactPostgresDialect.isUrl(jdbc.jdbcOptions().url())
          && !jdbc.jdbcOptions().parameters().contains(DateTimeSettings.ZONE)
          && Arrays.stream(jdbc.schema().fields()).noneMatch(Reads::isNumberOfDate);
    }

    /** Returns whether the option `customSchema` demands a number for a date. */
    private static boolean isNumberOfDate(StructField column) {
      var type = column.dataType();
      return DateTimeType.of(databaseType(column)) != null
          && (type.equals(DataTypes.IntegerType) || type.equals(DataTypes.LongType));
    }

    private static String databaseType(StructField column) {
      return column.metadata().contains(DATABASE_TYPE)
          ? column.metadata().getString(DATABASE_TYPE)
          : "";
    }

    private static LogicalPlan replace(LogicalPlan node) {
      var table = (LogicalRelation) node;
      var jdbc = (JDBCRelation) table.relation();
      var columns =
          Arrays.stream(jdbc.schema().fields()).map(Reads::asNumber).toArray(StructField[]::new);
      var options = new JDBCOptions(DateTimeSettings.add(jdbc.jdbcOptions().parameters()));
      var relation =
          jdbc.copy(
              new StructType(columns),
              jdbc.parts(),
              options,
              jdbc.additionalMetrics(),
              jdbc.sparkSession());
      return table.copy(
          relation, table.output(), table.catalogTable(), table.isStreaming(), table.stream());
    }

    private static StructField asNumber(StructField column) {
      var name = databaseType(column);
      var isArray = name.startsWith("_");
      var type = DateTimeType.of(isArray ? name.substring(1) : name);
      if (type == null) return column;
      var metadata = new MetadataBuilder().withMetadata(column.metadata()).remove(TIME).build();
      var number = isArray ? element(type, column.dataType()) : number(column.dataType());
      return new StructField(column.name(), number, column.nullable(), metadata);
    }

    /** The connection returns a TIMESTAMP_NTZ exactly; as a number it would be a TIMESTAMP. */
    private static DataType number(DataType type) {
      if (type.equals(DataTypes.DateType)) return DataTypes.IntegerType;
      return type.equals(DataTypes.TimestampType) ? DataTypes.LongType : type;
    }

    private static DataType element(DateTimeType element, DataType type) {
      if (type instanceof ArrayType array)
        return new ArrayType(element(element, array.elementType()), array.containsNull());
      return element == DateTimeType.DATE || element == DateTimeType.TIMESTAMPTZ
          ? number(type)
          : type;
    }
  }

  /** Writes rows through `Writer`. */
  public static final class Writes extends Rule<LogicalPlan> {
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      if (!(plan instanceof SaveIntoDataSourceCommand save)
          || !(save.dataSource() instanceof JdbcRelationProvider provider)) return plan;
      CaseInsensitiveMap<String> options = CaseInsensitiveMap$.MODULE$.apply(save.options());
      var url = options.get("url");
      if (url.isEmpty() || !ExactPostgresDialect.isUrl(url.get())) return plan;
      return CaseClasses.copy(
          save,
          Map.of("dataSource", new Writer(provider), "options", DateTimeSettings.add(options)));
    }
  }

  /** Spark's JDBC source, which gets exact values of dates and timestamps. */
  private record Writer(JdbcRelationProvider spark) implements CreatableRelationProvider {
    @Override
    public BaseRelation createRelation(
        SQLContext context,
        SaveMode mode,
        scala.collection.immutable.Map<String, String> options,
        Dataset<Row> rows) {
      return spark.createRelation(context, mode, options, ExactEncoders.withExactValues(rows));
    }
  }
}
