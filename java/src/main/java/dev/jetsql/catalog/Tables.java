package dev.jetsql.catalog;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Json;
import dev.jetsql.common.Sequences;
import dev.jetsql.connections.ConnectedTables;
import dev.jetsql.options.TableOptions;
import dev.jetsql.versions.CaseClasses;
import dev.jetsql.versions.SparkCalls;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.DropTableCommand;
import org.apache.spark.sql.execution.datasources.PartitioningUtils;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** The tables of the catalog: their current facts, and the changes that a committed batch makes. */
public final class Tables {
  public static final String CATALOG = "spark_catalog";

  private Tables() {}

  /** Returns the facts of a table as JSON, or null if it does not exist. */
  public static String facts(SparkSession session, String schema, String name)
      throws NoSuchDatabaseException, NoSuchTableException {
    try {
      // At most one request to the metastore, without checks that schema and table exist: each
      // batch calls this twice.
      var table = session.sharedState().externalCatalog().getTable(schema, name);
      return Json.write(CatalogTables.withFormat(session, facts(table)));
    } catch (Exception e) { // a Scala method declares no checked exception
      if (e instanceof NoSuchTableException || e instanceof NoSuchDatabaseException) return null;
      throw e;
    }
  }

  /** Lets this thread read each table from the metastore at most once, until `endReads`. */
  public static void beginReads(SparkSession session) {
    MetastoreCache.beginReads(session);
  }

  /** Ends what `beginReads` began. */
  public static void endReads(SparkSession session) {
    MetastoreCache.endReads(session);
  }

  /**
   * Returns the facts of the table with a name as in a statement, or null if the session catalog
   * has no such table.
   */
  public static String named(SparkSession session, String name) throws Exception {
    var parts = session.sessionState().sqlParser().parseMultipartIdentifier(name);
    var catalog = session.sessionState().catalog();
    if (parts.size() > 3 || catalog.isTempView(parts)) return null;
    var first = parts.size() == 3 ? parts.head() : SparkCalls.currentCatalog(session);
    if (!first.equalsIgnoreCase(CATALOG)) return null;
    var schema = parts.size() > 1 ? parts.apply(parts.size() - 2) : catalog.getCurrentDatabase();
    var table = new TableIdentifier(parts.last(), Option.apply(schema));
    if (!catalog.databaseExists(schema) || !catalog.tableExists(table)) return null;
    return Json.write(facts(catalog.getTableMetadata(table)));
  }

  /** Returns the facts of a table. */
  public static ObjectNode facts(CatalogTable table) {
    var facts = Json.MAPPER.createObjectNode();
    facts.put("table", name(table));
    facts.put("type", table.tableType().name());
    facts.put("provider", table.provider().isEmpty() ? "" : table.provider().get());
    facts.put("location", location(table));
    facts.put("created", table.createTime());
    facts.put("bucketed", table.bucketSpec().isDefined());
    facts.set("columns", Json.MAPPER.valueToTree(table.schema().fieldNames()));
    var types = facts.putArray("types");
    for (var field : table.schema().fields()) types.add(field.dataType().catalogString());
    facts.set(
        "partition_columns",
        Json.MAPPER.valueToTree(CollectionConverters.asJava(table.partitionColumnNames())));
    facts.set(
        "options",
        Json.MAPPER.valueToTree(ConnectedTables.usableOptions(TableOptions.format(table), table)));
    var properties = CollectionConverters.asJava(table.properties());
    facts.put("job", properties.getOrDefault(TablesWithJobs.JOB, ""));
    facts.put("kind", properties.getOrDefault(TablesWithJobs.KIND, ""));
    StandInTables.describe(table, facts);
    return facts;
  }

  /** Returns the qualified name of a table of the session catalog. */
  static String name(CatalogTable table) {
    var name = table.identifier();
    var schema = name.database().isEmpty() ? "default" : name.database().get();
    return CATALOG + "." + schema + "." + name.table();
  }

  private static String location(CatalogTable table) {
    var uri = table.storage().locationUri();
    // A path and not an encoded URI: Hadoop does not decode the text of a path.
    return uri.isEmpty() ? "" : new Path(uri.get()).toString();
  }

  /**
   * Adds partitions to a table. Existing ones do not change.
   *
   * @param fragments a JSON array of relative paths such as `d=2013-01-01/h=5`
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
    var tableStorage = table.storage();
    var uri = Option.apply(new Path(location(table), fragment).toUri());
    var storage = CaseClasses.copy(tableStorage, java.util.Map.of("locationUri", uri));
    return new CatalogTablePartition(
        PartitioningUtils.parsePathFragment(fragment),
        storage,
        Map$.MODULE$.<String, String>empty(),
        System.currentTimeMillis(),
        -1L,
        Option.empty());
  }

  /**
   * Sets the folder of a table. Its files are not moved.
   *
   * <p>Spark's ALTER TABLE does the same with twice as many requests to the metastore, and analyses
   * a query of the table. Each batch of an INSERT OVERWRITE would wait for it.
   */
  public static void move(SparkSession session, String schema, String name, String location) {
    var cache = session.sharedState().cacheManager();
    var cached = cache.isEmpty() ? null : CachedTable.of(session, schema, name);
    var catalog = session.sharedState().externalCatalog();
    var table = catalog.getTable(schema, name);
    var uri = Option.apply(new Path(location).toUri());
    var storage = CaseClasses.copy(table.storage(), java.util.Map.of("locationUri", uri));
    catalog.alterTable(CaseClasses.copy(table, java.util.Map.of("storage", storage)));
    if (table.stats().isDefined()) catalog.alterTableStats(schema, name, Option.empty());
    var identifier = new TableIdentifier(name, Option.apply(schema));
    session.sessionState().catalog().invalidateCachedTable(identifier);
    if (cached != null) cached.replace();
  }

  /** Drops a table, if it exists, without its job. */
  public static void drop(SparkSession session, String schema, String name) {
    var table = new TableIdentifier(name, Option.apply(schema));
    TablesWithJobs.drop(() -> new DropTableCommand(table, true, false, false).run(session));
    TableVersions.changed((CATALOG + "." + schema + "." + name).toLowerCase(Locale.ROOT));
  }

  static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }

  /**
   * Records that a job has changed a table's files, so that sessions list them again, and refreshes
   * the cached rows of CACHE TABLE.
   */
  public static void changed(SparkSession session, String table, String location) {
    TableVersions.changed(table);
    var cache = session.sharedState().cacheManager();
    if (!cache.isEmpty() && !location.isEmpty()) cache.recacheByPath(session, location);
  }
}
