package dev.jetsql.sql;

import dev.jetsql.common.Json;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CacheManager;
import org.apache.spark.sql.execution.datasources.PartitioningUtils;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The catalogue's tables: what they are now, and the changes that a committed batch brings about. */
class Tables {

  /** Facts of a table as JSON; null when there is none. */
  static String facts(SparkSession session, String schema, String name) throws Exception {
    try {
      // One question to the metastore, not also whether schema and table exist: each batch asks this twice.
      return Json.MAPPER.writeValueAsString(facts(session.sharedState().externalCatalog().getTable(schema, name)));
    } catch (Exception e) {
      if (e instanceof NoSuchTableException || e instanceof NoSuchDatabaseException) return null;
      throw e;
    }
  }

  /** Facts of the table that a name as written in a statement stands for; null when that is none of the catalogue's. */
  static String named(SparkSession session, String name) throws Exception {
    Seq parts = session.sessionState().sqlParser().parseMultipartIdentifier(name);
    SessionCatalog catalog = session.sessionState().catalog();
    if (parts.size() > 3 || catalog.isTempView(parts)) return null;
    String first = parts.size() == 3 ? (String) parts.head() : session.sessionState().catalogManager().currentCatalog().name();
    if (!first.equalsIgnoreCase("spark_catalog")) return null;
    String schema = parts.size() > 1 ? (String) parts.apply(parts.size() - 2) : catalog.getCurrentDatabase();
    TableIdentifier table = new TableIdentifier((String) parts.last(), Option.apply(schema));
    if (!catalog.databaseExists(schema) || !catalog.tableExists(table)) return null;
    return Json.MAPPER.writeValueAsString(facts(catalog.getTableMetadata(table)));
  }

  static ObjectNode facts(CatalogTable table) {
    TableIdentifier name = table.identifier();
    ObjectNode node = Json.MAPPER.createObjectNode();
    node.put("table", "spark_catalog." + (name.database().isEmpty() ? "default" : name.database().get()) + "." + name.table());
    node.put("type", table.tableType().name());
    node.put("provider", table.provider().isEmpty() ? "" : (String) table.provider().get());
    node.put("location", location(table));
    node.put("created", table.createTime());
    node.put("bucketed", table.bucketSpec().isDefined());
    node.set("columns", texts(Arrays.asList((Object[]) table.schema().fieldNames())));
    node.set("partition_columns", texts(CollectionConverters.asJava(table.partitionColumnNames())));
    node.set("options", Json.MAPPER.valueToTree(CollectionConverters.asJava(table.storage().properties())));
    return node;
  }

  static String location(CatalogTable table) {
    // A path, not an encoded URI: Hadoop takes a text as a path, with its spaces as they are.
    return table.storage().locationUri().isEmpty() ? "" : new Path((java.net.URI) table.storage().locationUri().get()).toString();
  }

  static ArrayNode texts(Collection values) {
    ArrayNode node = Json.MAPPER.createArrayNode();
    Iterator each = values.iterator();
    while (each.hasNext()) node.add(String.valueOf(each.next()));
    return node;
  }

  static void addPartitions(SparkSession session, String schema, String name, String fragments) throws Exception {
    ExternalCatalog catalog = session.sharedState().externalCatalog();
    CatalogTable table = catalog.getTable(schema, name);
    JsonNode paths = Json.MAPPER.readTree(fragments);
    List partitions = new ArrayList();
    for (int i = 0; i < paths.size(); i++) partitions.add(partition(table, ((JsonNode) paths.get(i)).asText()));
    catalog.createPartitions(schema, name, (Seq) CollectionConverters.asScala(partitions).toSeq(), true);
  }

  private static CatalogTablePartition partition(CatalogTable table, String fragment) {
    Map spec = PartitioningUtils.parsePathFragment(fragment);
    CatalogStorageFormat whole = table.storage();
    Option place = Option.apply((Object) new Path(location(table), fragment).toUri());
    CatalogStorageFormat storage = new CatalogStorageFormat(place, whole.inputFormat(), whole.outputFormat(), whole.serde(),
        whole.compressed(), whole.properties(), whole.serdeName());
    long now = System.currentTimeMillis();
    return new CatalogTablePartition(spec, storage, (Map) Map$.MODULE$.empty(), now, -1L, Option.empty());
  }

  static void move(SparkSession session, String schema, String name, String location) throws Exception {
    String table = "`" + schema.replace("`", "``") + "`.`" + name.replace("`", "``") + "`";
    session.sql("ALTER TABLE spark_catalog." + table + " SET LOCATION '" + location.replace("\\", "\\\\").replace("'", "\\'") + "'");
  }

  /** A job has changed a table's files: sessions look again, and what was cached with CACHE TABLE is read again. */
  static void changed(SparkSession session, String table, String location) {
    Relations.changed(table);
    CacheManager cache = session.sharedState().cacheManager();
    if (!cache.isEmpty() && location.length() > 0) cache.recacheByPath(session, location);
  }
}
