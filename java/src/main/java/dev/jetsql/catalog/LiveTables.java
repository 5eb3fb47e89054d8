package dev.jetsql.catalog;

import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.Json;
import dev.jetsql.common.PythonResponses;
import dev.jetsql.common.Sequences;
import dev.jetsql.rights.Rights;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
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
 * The relations of the schema `jetsql`, whose rows are the current state of the engine.
 *
 * <p>The catalog contains empty views with their columns, as placeholders for clients that list
 * names and columns. In a query, a table of this class replaces the placeholder. It requests the
 * rows from the engine whenever the query is planned: for each `spark.sql`, each `show()`, each
 * batch of a job. Every query gets its own table object; otherwise Spark would use the rows that
 * one user has cached in the query of another.
 */
public final class LiveTables {
  static final String SCHEMA = "jetsql";

  /** The property of a placeholder with a stamp of the columns that it was created with. */
  private static final String STAMP = "jetsql.columns";

  private static final long SMALL_BYTES = 1L << 20;

  private static final Map<String, StructType> parsed = new ConcurrentHashMap<>(); // by DDL

  private static volatile Map<String, String> relations = Map.of(); // columns (DDL) by name

  private LiveTables() {}

  /** Sets the live relations: a JSON object of their columns (DDL) by name. */
  public static void show(String columns) {
    var columnsByName = new HashMap<String, String>();
    Json.read(columns)
        .properties()
        .forEach(relation -> columnsByName.put(relation.getKey(), relation.getValue().asText()));
    relations = columnsByName;
    var names = columnsByName.keySet().stream().map(name -> List.of(Tables.CATALOG, SCHEMA, name));
    Rights.showRelations(names.collect(Collectors.toUnmodifiableSet()));
  }

  static boolean has(String schema, String name) {
    return schema.equalsIgnoreCase(SCHEMA) && relations.containsKey(name.toLowerCase(Locale.ROOT));
  }

  /** Returns the columns of a relation, whose text is parsed only when a query needs it. */
  private static StructType columns(String lowerName) {
    return parsed.computeIfAbsent(relations.get(lowerName), StructType::fromDDL);
  }

  static LogicalPlan plan(String name) {
    var lowerName = name.toLowerCase(Locale.ROOT);
    var table = new LiveTable(lowerName, columns(lowerName));
    var relation = DataSourceV2Relation.create(table, Option.empty(), Option.empty());
    return new SubqueryAlias(
        new AliasIdentifier(lowerName, Sequences.of(Tables.CATALOG, SCHEMA)), relation);
  }

  /**
   * Returns the tables and views of the schema that have these names (a JSON array), as a JSON
   * object of their stamps by name. The stamp is "" for one that JetSQL did not create. Returns
   * null if the schema does not exist.
   */
  public static String placeholders(SparkSession session, String names) {
    var catalog = session.sharedState().externalCatalog();
    if (!catalog.databaseExists(SCHEMA)) return null;
    var stamps = new HashMap<String, String>();
    var tables = catalog.getTablesByName(SCHEMA, Sequences.of(Json.readTexts(names)));
    for (var table : CollectionConverters.asJava(tables)) {
      var stamp = table.properties().get(STAMP);
      stamps.put(table.identifier().table(), stamp.isEmpty() ? "" : stamp.get());
    }
    return Json.write(stamps);
  }

  /**
   * Returns the stamp of the schema if all relations are in it (names: a JSON array), otherwise "".
   * That takes a few requests to the metastore, and `placeholders` many for each relation.
   */
  public static String stamp(SparkSession session, String names) throws Exception {
    var catalog = session.sharedState().externalCatalog();
    if (!catalog.databaseExists(SCHEMA)) return "";
    var stamp = catalog.getDatabase(SCHEMA).properties().get(STAMP);
    var listed = CollectionConverters.asJava(catalog.listTables(SCHEMA));
    return stamp.isEmpty() || !listed.containsAll(Json.readTexts(names)) ? "" : stamp.get();
  }

  /** Returns the qualified name of the relation that a table is, or null for any other table. */
  public static List<String> name(Object table) {
    return table instanceof LiveTable live ? List.of(Tables.CATALOG, SCHEMA, live.name) : null;
  }

  private static String qualified(String name) {
    return SCHEMA + "." + name;
  }

  /**
   * The table of one query. It has no `equals`, so that Spark never takes two of them for the same
   * table.
   */
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

  /** The rows of one query, requested from the engine once, when Spark plans the query. */
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
     * Returns a size that lets Spark broadcast the table in a join. The real size is unknown before
     * the rows are read.
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
      if (rows == null) rows = requestRows();
      return rows;
    }

    private InternalRow[] requestRows() {
      var response = EngineCallback.ROWS.ask(null, Map.of("name", name));
      var converter = CatalystTypeConverters.createToCatalystConverter(required);
      var indexes = Arrays.stream(required.fieldNames()).mapToInt(columns::fieldIndex).toArray();
      var requested = new InternalRow[response.size()];
      for (var i = 0; i < requested.length; i++) {
        requested[i] =
            (InternalRow) converter.apply(PythonResponses.row(response.get(i), required, indexes));
      }
      return requested;
    }
  }
}
