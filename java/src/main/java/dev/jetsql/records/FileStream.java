package dev.jetsql.records;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.concat;
import static org.apache.spark.sql.functions.explode;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Sequences;
import dev.jetsql.plans.Plans;
import dev.jetsql.versions.CaseClasses;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The stream of a table of JSON or CSV files. Spark reads a line that does not fit the columns as a
 * row of NULLs; this applies the option `on.error` of the table, as for the messages of a topic.
 */
public final class FileStream {
  /**
   * The setting of the session of a job that an earlier release has created: without `on.error`,
   * Spark's parse mode applies.
   */
  public static final String BY_DEFAULT = "spark.jetsql.files.onError";

  /** What applies if the table has options of Spark for lines that do not fit. */
  public static final String PARSE_MODE = "parse mode";

  private static final Map<String, Class<?>> FORMATS =
      Map.of("json", CheckedJsonFormat.class, "csv", CheckedCsvFormat.class);
  private static final List<String> MODES = List.of("mode", "singleVariantColumn");
  static final String CORRUPT = "columnNameOfCorruptRecord";
  private static final String FILE = "__file";

  private final SparkSession session;
  private final DataSource source;
  private final CatalogTable table;
  private final CaseInsensitiveStringMap options;

  private FileStream(SparkSession session, DataSource source) {
    this.session = session;
    this.source = source;
    this.table = source.catalogTable().get();
    this.options = new CaseInsensitiveStringMap(CollectionConverters.asJava(source.options()));
  }

  /** Returns the stream of a source, or null for a source of another kind. */
  public static FileStream of(SparkSession session, DataSource source) {
    boolean isTable = source.catalogTable().isDefined();
    return isTable && FORMATS.containsKey(lower(source.className()))
        ? new FileStream(session, source)
        : null;
  }

  /** Returns the name of the format of a source, also if its lines are checked. */
  public static String format(DataSource source) {
    return FORMATS.entrySet().stream()
        .filter(each -> each.getValue().getName().equals(source.className()))
        .map(Map.Entry::getKey)
        .findFirst()
        .orElse(source.className());
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }

  /**
   * Returns what applies to lines that do not fit: a value of `on.error`, `PARSE_MODE`, or null in
   * a job of an earlier release. Throws INVALID_OPTION_VALUE.
   */
  public String onError() {
    String own = ownMode();
    String given = options.get(OnError.OPTION);
    if (given == null) return own != null ? PARSE_MODE : isOfEarlierRelease() ? null : OnError.FAIL;
    String message = null;
    if (!OnError.isValid(given))
      message =
          "The option 'on.error' is '"
              + given
              + "'. It must be one of '"
              + String.join("', '", OnError.OF_TABLE)
              + "'.";
    else if (own != null)
      message = "Set either 'on.error' or " + own + " of the table " + name() + ".";
    if (message == null) return given;
    throw Exceptions.raise(JetSqlException.of("INVALID_OPTION_VALUE", "22023", message));
  }

  private boolean isOfEarlierRelease() {
    return session.conf().getOption(BY_DEFAULT).isDefined();
  }

  /** Returns what makes Spark's parse mode the choice of the user, or null without it. */
  private String ownMode() {
    for (String mode : MODES) if (options.containsKey(mode)) return "the option '" + mode + "'";
    String name =
        options.getOrDefault(CORRUPT, session.sessionState().conf().columnNameOfCorruptRecord());
    return Arrays.asList(table.schema().fieldNames()).contains(name) ? "the column " + name : null;
  }

  private String name() {
    return String.join(
        ".", "spark_catalog", table.identifier().database().get(), table.identifier().table());
  }

  /** Returns the plan that replaces the relation of the stream. Its columns are the same. */
  LogicalPlan checked(StreamingRelation relation, String onError) {
    StreamingRelation read = withChecks(relation, onError);
    var lines = Dataset.ofRows(session, withMetadata(read));
    StructType columns = FileColumns.remove(read.dataSource().userSpecifiedSchema().get());
    List<String> partitions = CollectionConverters.asJava(table.partitionColumnNames());
    List<Column> fields = new ArrayList<>();
    for (String name : FileColumns.add(columns).fieldNames())
      if (!partitions.contains(name)) fields.add(named(name));
    List<Column> selected = new ArrayList<>();
    selected.add(explode(array(struct(fields.toArray(Column[]::new)))).as(OnError.ROW));
    partitions.forEach(name -> selected.add(named(name)));
    selected.add(col(FileColumns.METADATA));
    selected.add(col(FileColumns.METADATA).getField("file_path").as(FILE));
    var rows = lines.select(selected.toArray(Column[]::new));
    Column text = col(OnError.ROW).getField(FileColumns.BROKEN);
    Column broken = isBroken(session, table, options, text);
    var kept = OnError.apply(rows, onError, broken, message());
    List<Column> outputs = new ArrayList<>();
    for (Attribute column : CollectionConverters.asJava(relation.output())) {
      Column value =
          Plans.isMetadata(column)
              ? col(FileColumns.METADATA)
              : partitions.contains(column.name())
                  ? named(column.name())
                  : col(OnError.ROW).getField(column.name());
      outputs.add(value.as(column.name(), SourceColumns.MARK));
    }
    var result = (Dataset<Row>) kept.select(outputs.toArray(Column[]::new));
    return SourceColumns.project(result.queryExecution().analyzed(), relation.output());
  }

  /** Returns a relation with the metadata of the files as its last column. */
  private static StreamingRelation withMetadata(StreamingRelation relation) {
    var output = new ArrayList<>(CollectionConverters.asJava(relation.output()));
    output.add(relation.metadataOutput().head().withName(FileColumns.METADATA));
    return CaseClasses.copy(relation, Map.of("output", Sequences.of(output)));
  }

  private static Column named(String column) {
    return col("`" + column.replace("`", "``") + "`");
  }

  private StreamingRelation withChecks(StreamingRelation relation, String onError) {
    var changed = new HashMap<>(CollectionConverters.asJava(source.options()));
    changed.put(CORRUPT, FileColumns.BROKEN);
    changed.put(OnError.APPLIED, onError);
    DataSource checked =
        CaseClasses.copy(
            source,
            Map.of(
                "className",
                checkedFormat(table).getName(),
                "userSpecifiedSchema",
                Option.apply(
                    FileColumns.add(
                        CharVarcharUtils.replaceCharVarcharWithStringInSchema(
                            source.sourceInfo().schema()))),
                "options",
                Map$.MODULE$.from(CollectionConverters.asScala(changed))));
    List<Attribute> output = new ArrayList<>();
    for (var field : checked.sourceInfo().schema().fields())
      output.add(
          new AttributeReference(
              field.name(),
              field.dataType(),
              field.nullable(),
              field.metadata(),
              NamedExpression$.MODULE$.newExprId(),
              Sequences.of()));
    return CaseClasses.copy(
        relation, Map.of("dataSource", checked, "output", Sequences.of(output)));
  }

  /** Returns the error of a line that does not fit. */
  private Column message() {
    Column line = col(OnError.ROW).getField(FileColumns.LINE).cast(DataTypes.StringType);
    return concat(
        coalesce(concat(lit("Line "), line), lit("A record")),
        lit(" of the file "),
        col(FILE),
        lit(" does not fit the columns of " + name() + ": "),
        reason(),
        lit(
            ". To accept such lines, set the table's option 'on.error' to 'null', 'skip' or"
                + " 'table:NAME': ALTER TABLE "
                + name().substring("spark_catalog.".length())
                + " SET SERDEPROPERTIES ('on.error' = 'skip')."));
  }

  private Column reason() {
    Column text = col(OnError.ROW).getField(FileColumns.BROKEN);
    return reason(session, table, options, text);
  }

  /**
   * Returns whether a text does not fit the columns of a table of files.
   *
   * @param text the text that does not fit according to Spark, or NULL
   */
  static Column isBroken(
      SparkSession session, CatalogTable table, Map<String, String> options, Column text) {
    if (!isByOrder(table) || !csv(session, table, options).hasAdded()) return text.isNotNull();
    return text.isNotNull().and(reason(session, table, options, text).isNotNull());
  }

  /**
   * Returns why a text does not fit the columns of a table of files, without a full stop; NULL for
   * a line that lacks values of added columns only.
   */
  static Column reason(
      SparkSession session, CatalogTable table, Map<String, String> options, Column text) {
    Column bytes = text.cast(DataTypes.BinaryType);
    if (isByOrder(table)) return csv(session, table, options).reason(bytes);
    String zone = session.sessionState().conf().sessionLocalTimeZone();
    return new JsonRecords(columns(table), options, zone, true).reason(bytes);
  }

  private static CsvRecords csv(
      SparkSession session, CatalogTable table, Map<String, String> options) {
    String zone = session.sessionState().conf().sessionLocalTimeZone();
    return new CsvRecords(columns(table), options, zone);
  }

  private static StructType columns(CatalogTable table) {
    return CharVarcharUtils.replaceCharVarcharWithStringInSchema(table.dataSchema());
  }

  /** Returns whether the values of a table's rows are found by their order, and not by names. */
  public static boolean isByOrder(CatalogTable table) {
    return lower(table.provider().get()).equals("csv");
  }

  /** Returns the format that checks the lines of a table. */
  static Class<?> checkedFormat(CatalogTable table) {
    return FORMATS.get(lower(table.provider().get()));
  }
}
