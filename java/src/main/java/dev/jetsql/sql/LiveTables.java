package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.common.PythonResponses;
import dev.jetsql.common.Sequences;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The relations of the schema `jetsql`, whose rows are what the engine knows at this moment.
 *
 * <p>The catalogue holds empty views of their shape, for everything that asks for names and
 * columns. A query that reads one is given a table of this class in its place, which asks the
 * engine whenever the query is planned: each `spark.sql`, each `show()`, each batch of a job. Every
 * query has a table object of its own: Spark would otherwise take the rows that one user has cached
 * for another one's query.
 */
public final class LiveTables {
  static final String SCHEMA = "jetsql";

  /** In the properties of a placeholder: which columns it was made for. */
  private static final String STAMP = "jetsql.columns";

  private static final long SMALL_BYTES = 1L << 20;

  private static volatile BiFunction<Object, String, Object> engine;
  private static volatile Map<String, StructType> relations = Map.of();

  private LiveTables() {}

  /**
   * Connect the relations to the engine: (null, "name") gives {"rows": [[...]]}, or an error; null
   * disconnects them.
   */
  static void connect(BiFunction<Object, String, Object> rows) {
    engine = rows;
  }

  static boolean isConnected() {
    return engine != null;
  }

  /** Make these relations live, JSON: {"jobs": DDL of its columns, ...}. */
  public static void show(String columns) {
    var shown = new HashMap<String, StructType>();
    Json.read(columns)
        .properties()
        .forEach(each -> shown.put(each.getKey(), StructType.fromDDL(each.getValue().asText())));
    relations = shown;
  }

  static boolean has(String schema, String name) {
    return schema.equalsIgnoreCase(SCHEMA) && relations.containsKey(name.toLowerCase(Locale.ROOT));
  }

  static LogicalPlan plan(String name) {
    var known = name.toLowerCase(Locale.ROOT);
    var table = new LiveTable(known, relations.get(known));
    var relation = DataSourceV2Relation.create(table, Option.empty(), Option.empty());
    return new SubqueryAlias(
        new AliasIdentifier(known, Sequences.of(Tables.CATALOG, SCHEMA)), relation);
  }

  /**
   * Return what the schema holds under these names (JSON array), as JSON: {name: stamp, "" for what
   * is not ours}; null where there is no schema.
   */
  public static String placeholders(SparkSession session, String names) {
    var catalog = session.sharedState().externalCatalog();
    if (!catalog.databaseExists(SCHEMA)) return null;
    var found = new HashMap<String, String>();
    var tables = catalog.getTablesByName(SCHEMA, Sequences.of(Json.readTexts(names)));
    for (var table : CollectionConverters.asJava(tables)) {
      var stamp = table.properties().get(STAMP);
      found.put(table.identifier().table(), stamp.isEmpty() ? "" : stamp.get());
    }
    return Json.write(found);
  }

  private static String qualified(String name) {
    return SCHEMA + "." + name;
  }

  /** A table without `equals`: two queries never share one. */
  private static final class LiveTable implements SupportsRead {
    private final String name;
    private final StructType columns;

    LiveTable(String name, StructType columns) {
      this.name = name;
      this.columns = columns;
    }

    @Override
    public String name() {
      return qualified(name);
    }

    @Override
    @SuppressWarnings("deprecation") // Table.columns() calls it
    public StructType schema() {
      return columns;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return new LiveScanBuilder(name, columns);
    }
  }

  private static final class LiveScanBuilder
      implements ScanBuilder, SupportsPushDownRequiredColumns {
    private final String name;
    private final StructType columns;
    private StructType required;

    LiveScanBuilder(String name, StructType columns) {
      this.name = name;
      this.columns = columns;
      this.required = columns;
    }

    @Override
    public void pruneColumns(StructType requiredColumns) {
      required = requiredColumns;
    }

    @Override
    public LiveScan build() {
      return new LiveScan(name, columns, required);
    }
  }

  /** The rows at one moment: the engine is asked for them once, when the query is planned. */
  private static final class LiveScan implements LocalScan, SupportsReportStatistics, Statistics {
    private final String name;
    private final StructType columns;
    private final StructType required;
    private InternalRow[] rows;

    LiveScan(String name, StructType columns, StructType required) {
      this.name = name;
      this.columns = columns;
      this.required = required;
    }

    @Override
    public StructType readSchema() {
      return required;
    }

    @Override
    public String description() {
      return qualified(name);
    }

    @Override
    public Statistics estimateStatistics() {
      return this;
    }

    /**
     * Return a size that Spark broadcasts in a join; for the true one the rows would be needed
     * first.
     */
    @Override
    public OptionalLong sizeInBytes() {
      return OptionalLong.of(SMALL_BYTES);
    }

    @Override
    public OptionalLong numRows() {
      return OptionalLong.empty();
    }

    @Override
    public synchronized InternalRow[] rows() {
      if (rows == null) rows = askEngine();
      return rows;
    }

    private InternalRow[] askEngine() {
      var asked = engine;
      if (asked == null) throw Exceptions.raise(JetSqlException.closed());
      var answer = PythonResponses.of(PythonCalls.ask(asked, null, name)).get("rows");
      var convert = CatalystTypeConverters.createToCatalystConverter(required);
      var places = Arrays.stream(required.fieldNames()).mapToInt(columns::fieldIndex).toArray();
      var found = new InternalRow[answer.size()];
      for (var i = 0; i < found.length; i++) {
        found[i] =
            (InternalRow) convert.apply(PythonResponses.row(answer.get(i), required, places));
      }
      return found;
    }
  }
}
