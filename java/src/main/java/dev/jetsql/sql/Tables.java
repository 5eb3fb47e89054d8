package dev.jetsql.sql;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import dev.jetsql.common.Sequences;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.PartitioningUtils;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The catalogue's tables: what they are now, and the changes that a committed batch brings about.
 */
public final class Tables {
  static final String CATALOG = "spark_catalog";

  private Tables() {}

  /** Return facts of a table as JSON; null when there is none. */
  public static String facts(SparkSession session, String schema, String name)
      throws NoSuchDatabaseException, NoSuchTableException {
    try {
      // One question to the metastore, not also whether schema and table exist: each batch asks
      // this twice.
      return Json.write(facts(session.sharedState().externalCatalog().getTable(schema, name)));
    } catch (
        Exception e) { // Scala declares no exceptions, so these two are not known as possible here
      if (e instanceof NoSuchTableException || e instanceof NoSuchDatabaseException) return null;
      throw e;
    }
  }

  /**
   * Return facts of the table that a name in a statement stands for; null when it is none of the
   * session catalogue.
   */
  public static String named(SparkSession session, String name) throws Exception {
    var parts = session.sessionState().sqlParser().parseMultipartIdentifier(name);
    var catalog = session.sessionState().catalog();
    if (parts.size() > 3 || catalog.isTempView(parts)) return null;
    var first =
        parts.size() == 3
            ? parts.head()
            : session.sessionState().catalogManager().currentCatalog().name();
    if (!first.equalsIgnoreCase(CATALOG)) return null;
    var schema = parts.size() > 1 ? parts.apply(parts.size() - 2) : catalog.getCurrentDatabase();
    var table = new TableIdentifier(parts.last(), Option.apply(schema));
    if (!catalog.databaseExists(schema) || !catalog.tableExists(table)) return null;
    return Json.write(facts(catalog.getTableMetadata(table)));
  }

  static ObjectNode facts(CatalogTable table) {
    var name = table.identifier();
    var schema = name.database().isEmpty() ? "default" : name.database().get();
    var facts = Json.MAPPER.createObjectNode();
    facts.put("table", CATALOG + "." + schema + "." + name.table());
    facts.put("type", table.tableType().name());
    facts.put("provider", table.provider().isEmpty() ? "" : table.provider().get());
    facts.put("location", location(table));
    facts.put("created", table.createTime());
    facts.put("bucketed", table.bucketSpec().isDefined());
    facts.set("columns", Json.MAPPER.valueToTree(table.schema().fieldNames()));
    facts.set(
        "partition_columns",
        Json.MAPPER.valueToTree(CollectionConverters.asJava(table.partitionColumnNames())));
    facts.set(
        "options",
        Json.MAPPER.valueToTree(CollectionConverters.asJava(table.storage().properties())));
    return facts;
  }

  private static String location(CatalogTable table) {
    var uri = table.storage().locationUri();
    // A path, not an encoded URI: Hadoop takes a text as a path, with its spaces as they are.
    return uri.isEmpty() ? "" : new Path(uri.get()).toString();
  }

  /**
   * Add partitions to a table; known ones stay as they are.
   *
   * @param fragments JSON array of paths such as `d=2013-01-01/h=5`
   */
  public static void addPartitions(
      SparkSession session, String schema, String name, String fragments) {
    var catalog = session.sharedState().externalCatalog();
    var table = catalog.getTable(schema, name);
    List<CatalogTablePartition> partitions =
        Json.readTexts(fragments).stream().map(fragment -> partition(table, fragment)).toList();
    catalog.createPartitions(schema, name, Sequences.of(partitions), true);
  }

  private static CatalogTablePartition partition(CatalogTable table, String fragment) {
    var whole = table.storage();
    var place = Option.apply(new Path(location(table), fragment).toUri());
    var storage =
        new CatalogStorageFormat(
            place,
            whole.inputFormat(),
            whole.outputFormat(),
            whole.serde(),
            whole.compressed(),
            whole.properties(),
            whole.serdeName());
    return new CatalogTablePartition(
        PartitioningUtils.parsePathFragment(fragment),
        storage,
        Map$.MODULE$.<String, String>empty(),
        System.currentTimeMillis(),
        -1L,
        Option.empty());
  }

  /** Move a table to another folder. */
  public static void move(SparkSession session, String schema, String name, String location) {
    var table = CATALOG + "." + quoted(schema) + "." + quoted(name);
    var folder = location.replace("\\", "\\\\").replace("'", "\\'");
    session.sql("ALTER TABLE " + table + " SET LOCATION '" + folder + "'");
  }

  private static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }

  /**
   * Note that a job has changed a table's files: sessions list them again, and CACHE TABLE reads
   * them again.
   */
  public static void changed(SparkSession session, String table, String location) {
    TableVersions.changed(table);
    var cache = session.sharedState().cacheManager();
    if (!cache.isEmpty() && !location.isEmpty()) cache.recacheByPath(session, location);
  }
}
