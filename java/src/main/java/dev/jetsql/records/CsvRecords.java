package dev.jetsql.records;

import com.univocity.parsers.csv.CsvParser;
import com.univocity.parsers.csv.CsvParserSettings;
import java.io.Serializable;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.csv.CSVOptions;
import org.apache.spark.sql.catalyst.csv.UnivocityParser;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.FailureSafeParser;
import org.apache.spark.sql.catalyst.util.PermissiveMode$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Parses lines of CSV with Spark's parser, as a table USING csv does: a line feed outside of quotes
 * ends the line. Spark's `from_csv` takes it as a character of a value. Executors receive a copy
 * with each task.
 */
public final class CsvRecords implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final String ADDED = "jetsql.added";

  private final StructType columns;
  private final int required;
  private final HashMap<String, String> options;
  private final String zone;
  private transient FailureSafeParser<String> parser;
  private transient UnivocityParser checker;
  private transient CsvParserSettings lines;

  /**
   * @param columns the columns of the rows; `JsonRecords.BROKEN` is added to them
   * @param options the options of Spark's CSV source
   * @param zone the time zone of the session
   */
  public CsvRecords(StructType columns, Map<String, String> options, String zone) {
    this.columns = columns.asNullable();
    this.required = (int) Arrays.stream(columns.fields()).takeWhile(each -> !isAdded(each)).count();
    this.options = new HashMap<>(options);
    this.zone = zone;
  }

  /** Returns a column that is added to a table: lines that were written before lack its value. */
  public static StructField added(StructField column) {
    var metadata = new MetadataBuilder().withMetadata(column.metadata()).putBoolean(ADDED, true);
    return new StructField(column.name(), column.dataType(), column.nullable(), metadata.build());
  }

  /** Returns whether a column was added to a table whose values are found by their order. */
  public static boolean isAdded(StructField column) {
    return column.metadata().contains(ADDED);
  }

  /** Returns whether lines that lack the last values fit the columns. */
  boolean hasAdded() {
    return required < columns.length();
  }

  /** Returns texts as structs of the columns and `BROKEN`; NULL for NULL or an empty text. */
  public Column parse(Column bytes) {
    return RecordFunctions.call(this, "row", schema(), bytes);
  }

  /** Returns why a text does not fit the columns, without a full stop; NULL for one that fits. */
  public Column reason(Column bytes) {
    return RecordFunctions.call(this, "problem", DataTypes.StringType, bytes);
  }

  private StructType schema() {
    return columns.add(JsonRecords.BROKEN, DataTypes.StringType);
  }

  /** Returns a text as a row. The generated code calls it. */
  public InternalRow row(byte[] bytes) {
    if (parser == null) {
      var raw = new UnivocityParser(columns, columns, csvOptions());
      parser =
          new FailureSafeParser<>(
              text -> raw.parse().apply(text).toList(),
              PermissiveMode$.MODULE$,
              schema(),
              JsonRecords.BROKEN);
    }
    String line = line(bytes);
    if (hasMoreLines(line)) return new GenericInternalRow(broken(bytes));
    var rows = parser.parse(line);
    if (!rows.hasNext()) return null;
    var row = rows.next();
    int broken = columns.length();
    if (hasAdded() && !row.isNullAt(broken) && problem(line) == null) row.setNullAt(broken);
    return row;
  }

  private Object[] broken(byte[] bytes) {
    var values = new Object[columns.length() + 1];
    values[columns.length()] = UTF8String.fromBytes(bytes);
    return values;
  }

  /** Returns why a text does not fit the columns. The generated code calls it. */
  public UTF8String problem(byte[] bytes) {
    return UTF8String.fromString(problem(line(bytes)));
  }

  private String problem(String line) {
    if (hasMoreLines(line)) return "it has more than one line";
    if (checker == null) checker = new UnivocityParser(columns, columns, csvOptions());
    var values = checker.tokenizer().parseLine(line);
    if (values == null) return "it is empty";
    if (values.length > columns.length() || values.length < required)
      return "it has " + values.length + " values for " + columns.length() + " columns";
    var misfits = new StringJoiner(", ");
    for (int i = 0; i < values.length; i++) {
      var column = columns.apply(i);
      if (!fits(checker, column.name(), column.dataType(), values[i]))
        misfits.add(column.name() + " is not of type " + column.dataType().sql());
    }
    if (misfits.length() == 0 && values.length < columns.length()) return null;
    return misfits.length() == 0 ? "it is not valid csv for these columns" : misfits.toString();
  }

  private static boolean fits(UnivocityParser parser, String column, DataType type, String value) {
    try {
      parser.makeConverter(column, type, true).apply(value);
      return true;
    } catch (RuntimeException e) {
      return false;
    }
  }

  /** Returns the text of a message without the end of its line. */
  private static String line(byte[] bytes) {
    int end = bytes.length;
    if (end > 0 && bytes[end - 1] == '\n') end--;
    if (end > 0 && end < bytes.length && bytes[end - 1] == '\r') end--;
    return new String(bytes, 0, end, StandardCharsets.UTF_8);
  }

  private boolean hasMoreLines(String text) {
    if (text.indexOf('\n') < 0) return false;
    if (lines == null) {
      lines = csvOptions().asParserSettings();
      lines.getFormat().setLineSeparator("\n");
      lines.getFormat().setNormalizedNewline('\n');
    }
    var parser = new CsvParser(lines);
    parser.beginParsing(new StringReader(text));
    try {
      String[] first = parser.parseNext();
      return first != null && parser.parseNext() != null;
    } finally {
      parser.stopParsing();
    }
  }

  private CSVOptions csvOptions() {
    var scala = Map$.MODULE$.from(CollectionConverters.asScala(options));
    return new CSVOptions(scala, false, zone, JsonRecords.BROKEN);
  }
}
