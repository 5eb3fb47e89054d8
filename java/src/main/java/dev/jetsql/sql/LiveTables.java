package dev.jetsql.sql;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.common.PythonResponses;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BiFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The relations of the schema `jetsql`, whose rows are what the engine knows at this moment.
 *
 * The catalogue holds empty views of their shape, for everything that asks for names and columns. A query that reads one
 * is given a table of this class in its place, which asks the engine whenever the query is planned: each `spark.sql`,
 * each `show()`, each batch of a job. Every query has a table object of its own: Spark would otherwise take the rows that
 * one user has cached for another one's query.
 */
public class LiveTables {
  static final String SCHEMA = "jetsql";
  /** In the properties of a placeholder: which columns it was made for. */
  static final String STAMP = "jetsql.columns";
  private static final long SMALL = 1L << 20;

  private static volatile BiFunction engine;
  private static volatile Map relations = Collections.emptyMap();

  /** Tie the relations to an engine: (null, "name") gives {"rows": [[...]]}, or an error; null unties them. */
  static void connect(BiFunction rows) { engine = rows; }

  static boolean isConnected() { return engine != null; }

  /** From now on these are live, as JSON: {"jobs": DDL of its columns, ...}. */
  static void show(String columns) throws Exception {
    Map shown = new HashMap();
    Iterator each = ((ObjectNode) Json.MAPPER.readTree(columns)).fields();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      shown.put(entry.getKey(), StructType.fromDDL(((JsonNode) entry.getValue()).asText()));
    }
    relations = shown;
  }

  static boolean has(String schema, String name) {
    return schema.equalsIgnoreCase(SCHEMA) && relations.containsKey(name.toLowerCase(java.util.Locale.ROOT));
  }

  static LogicalPlan plan(String name) {
    String known = name.toLowerCase(java.util.Locale.ROOT);
    LogicalPlan relation = DataSourceV2Relation$.MODULE$.create(new Live(known, (StructType) relations.get(known)),
        Option.empty(), Option.empty());
    List place = new ArrayList();
    place.add("spark_catalog");
    place.add(SCHEMA);
    AliasIdentifier alias = AliasIdentifier.apply(known, (Seq) CollectionConverters.asScala(place).toSeq());
    return SubqueryAlias$.MODULE$.apply(alias, relation);
  }

  /** What the schema holds under these names (JSON array), as JSON: {name: stamp, "" for what is not ours}; null without schema. */
  static String found(SparkSession session, String names) throws Exception {
    ExternalCatalog catalog = session.sharedState().externalCatalog();
    if (!catalog.databaseExists(SCHEMA)) return null;
    List wanted = new ArrayList();
    JsonNode list = Json.MAPPER.readTree(names);
    for (int i = 0; i < list.size(); i++) wanted.add(((JsonNode) list.get(i)).asText());
    ObjectNode node = Json.MAPPER.createObjectNode();
    scala.collection.Iterator each =
        catalog.getTablesByName(SCHEMA, (Seq) CollectionConverters.asScala(wanted).toSeq()).iterator();
    while (each.hasNext()) {
      CatalogTable table = (CatalogTable) each.next();
      Option stamp = table.properties().get(STAMP);
      node.put(table.identifier().table(), stamp.isEmpty() ? "" : (String) stamp.get());
    }
    return Json.MAPPER.writeValueAsString(node);
  }

  static class Live implements SupportsRead {
    private final String name;
    private final StructType columns;

    Live(String name, StructType columns) {
      this.name = name;
      this.columns = columns;
    }

    public String name() { return SCHEMA + "." + name; }
    public StructType schema() { return columns; }
    public Set capabilities() { return Collections.singleton(TableCapability.BATCH_READ); }
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) { return new Builder(name, columns); }
  }

  static class Builder implements ScanBuilder, SupportsPushDownRequiredColumns {
    private final String name;
    private final StructType columns;
    private StructType wanted;

    Builder(String name, StructType columns) {
      this.name = name;
      this.columns = columns;
      this.wanted = columns;
    }

    public void pruneColumns(StructType required) { wanted = required; }
    public Scan build() { return new LiveScan(name, columns, wanted); }
  }

  /** The rows at one moment: they are asked for once, when the query is planned. */
  static class LiveScan implements LocalScan, SupportsReportStatistics, Statistics {
    private final String name;
    private final StructType columns;
    private final StructType wanted;
    private InternalRow[] rows;

    LiveScan(String name, StructType columns, StructType wanted) {
      this.name = name;
      this.columns = columns;
      this.wanted = wanted;
    }

    public StructType readSchema() { return wanted; }
    public String description() { return SCHEMA + "." + name; }
    public Statistics estimateStatistics() { return this; }
    /** Small enough to be sent around in a join; what it really is would have to be asked for first. */
    public OptionalLong sizeInBytes() { return OptionalLong.of(SMALL); }
    public OptionalLong numRows() { return OptionalLong.empty(); }

    public synchronized InternalRow[] rows() {
      if (rows == null) rows = ask();
      return rows;
    }

    private InternalRow[] ask() {
      BiFunction asked = engine;
      if (asked == null) throw Exceptions.raise(JetSqlException.closed());
      try {
        JsonNode answer = (JsonNode) PythonResponses.of(PythonCalls.ask(asked, null, name)).get("rows");
        scala.Function1 convert = CatalystTypeConverters.createToCatalystConverter(wanted);
        int[] places = new int[wanted.length()];
        for (int k = 0; k < places.length; k++) places[k] = columns.fieldIndex(wanted.apply(k).name());
        InternalRow[] found = new InternalRow[answer.size()];
        for (int i = 0; i < found.length; i++) {
          Row row = PythonResponses.row((JsonNode) answer.get(i), wanted, places);
          found[i] = (InternalRow) convert.apply(row);
        }
        return found;
      } catch (Exception e) {
        throw Exceptions.raise(e);
      }
    }
  }
}
