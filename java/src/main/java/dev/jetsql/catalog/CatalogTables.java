package dev.jetsql.catalog;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.ActiveSession;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Json;
import dev.jetsql.versions.SparkCalls;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Tables that a catalog's own class loads, such as those of Delta and Iceberg: their names and
 * facts. A name has any number of parts: the catalog, its namespaces, which may be nested, and the
 * table.
 */
public final class CatalogTables {
  private static final Pattern PLAIN = Pattern.compile("\\w+", Pattern.UNICODE_CHARACTER_CLASS);
  private static final String OPTION = "option.";
  private static final String NOT_CREATED = "not created yet";

  private CatalogTables() {}

  /**
   * Returns the facts of a table as JSON, or null if the table, its namespace or its catalog does
   * not exist.
   *
   * @param parts the parts of its qualified name, a JSON array
   */
  public static String facts(SparkSession session, String parts) {
    var names = Json.readTexts(parts);
    var identifier = identifier(names.subList(1, names.size()));
    var table = load(session, names.get(0), identifier);
    return table == null ? null : Json.write(facts(names.get(0), identifier, table));
  }

  /**
   * Drops a table, if it exists, without its job.
   *
   * @param parts the parts of its qualified name, a JSON array
   */
  public static void drop(SparkSession session, String parts) {
    var names = Json.readTexts(parts);
    var identifier = identifier(names.subList(1, names.size()));
    if (SparkCalls.catalog(session, names.get(0)) instanceof TableCatalog catalog)
      ActiveSession.call(session, () -> catalog.dropTable(identifier));
    TableVersions.changed(name(names.get(0), identifier).toLowerCase(Locale.ROOT));
  }

  /** Returns a table, or null if the table, its namespace or its catalog does not exist. */
  public static Table load(SparkSession session, String catalog, Identifier identifier) {
    return ActiveSession.call(
        session,
        () ->
            SparkCalls.catalog(session, catalog) instanceof TableCatalog tables
                ? load(tables, identifier)
                : null);
  }

  /** Returns a table as it is now, or null if it does not exist. */
  public static Table load(TableCatalog catalog, Identifier identifier) {
    try {
      catalog.invalidateTable(identifier);
      return catalog.loadTable(identifier);
    } catch (Exception e) { // Scala's methods declare no checked exception
      if (e instanceof NoSuchTableException || e instanceof NoSuchNamespaceException) return null;
      throw Exceptions.raise(e);
    }
  }

  /**
   * Returns a table as it is now, or null if the table, its namespace or its catalog does not
   * exist.
   *
   * @param parts the parts of its qualified name, a JSON array
   */
  public static Table load(SparkSession session, String parts) {
    var names = Json.readTexts(parts);
    return load(session, names.get(0), identifier(names.subList(1, names.size())));
  }

  /** Returns the identifier of a table. names: its namespaces and its name */
  public static Identifier identifier(List<String> names) {
    var last = names.size() - 1;
    return Identifier.of(names.subList(0, last).toArray(String[]::new), names.get(last));
  }

  /** Returns the name of a relation's catalogue; the session's for a relation without one. */
  public static String catalogName(Option<CatalogPlugin> catalog) {
    return catalog.isDefined() ? catalog.get().name() : Tables.CATALOG;
  }

  /** Returns the facts of a table, with the names of those of a table of Spark (see `Tables`). */
  public static ObjectNode facts(String catalog, Identifier identifier, Table table) {
    if (table instanceof V1Table ofSpark) return Tables.facts(ofSpark.v1Table());
    var properties = new TreeMap<>(table.properties());
    var facts = facts(catalog, identifier, properties);
    describe(facts, table, properties);
    return facts;
  }

  private static ObjectNode facts(
      String catalog, Identifier identifier, Map<String, String> properties) {
    var facts = Json.MAPPER.createObjectNode();
    facts.put("table", name(catalog, identifier));
    facts.put("type", properties.containsKey(TableCatalog.PROP_EXTERNAL) ? "EXTERNAL" : "MANAGED");
    facts.put("provider", properties.getOrDefault(TableCatalog.PROP_PROVIDER, ""));
    facts.put("location", properties.getOrDefault(TableCatalog.PROP_LOCATION, ""));
    facts.put("created", 0L);
    facts.put("bucketed", false);
    return facts;
  }

  /** Returns the facts of a table that does not exist, as a statement would create it. */
  public static ObjectNode facts(
      CatalogPlugin catalog, Identifier identifier, CreateTable statement, TableSpec spec) {
    var properties =
        new TreeMap<>(CollectionConverters.asJava(CatalogV2Util.convertTableProperties(spec)));
    if (isOfIceberg(catalog)) properties.putIfAbsent(TableCatalog.PROP_PROVIDER, "iceberg");
    var facts = facts(catalog.name(), identifier, properties);
    var columns = List.of(statement.tableSchema().fields());
    describe(
        facts,
        columns.stream().map(StructField::name).toList(),
        columns.stream().map(StructField::dataType).toList(),
        CollectionConverters.asJava(statement.partitioning()),
        properties);
    facts.put("identity", NOT_CREATED);
    return facts;
  }

  /** Returns whether a catalog is one of Iceberg, all tables of which have its format. */
  public static boolean isOfIceberg(CatalogPlugin catalog) {
    return catalog != null && catalog.getClass().getName().startsWith("org.apache.iceberg.");
  }

  /** Replaces the facts that only the format of a table of Spark's catalog knows. */
  public static ObjectNode withFormat(SparkSession session, ObjectNode facts) {
    if (!hasFormat(facts.get("provider").asText())) return facts;
    var parts = List.of(facts.get("table").asText().split("\\."));
    var table = load(session, parts.get(0), identifier(parts.subList(1, parts.size())));
    if (table != null && !(table instanceof V1Table)) describe(facts, table, table.properties());
    return facts;
  }

  /** Returns whether tables of a format have a log of their own instead of a list of files. */
  public static boolean hasFormat(String provider) {
    return provider.equalsIgnoreCase("delta") || provider.equalsIgnoreCase("iceberg");
  }

  private static void describe(ObjectNode facts, Table table, Map<String, String> properties) {
    var columns = List.of(table.columns());
    describe(
        facts,
        columns.stream().map(Column::name).toList(),
        columns.stream().map(Column::dataType).toList(),
        List.of(table.partitioning()),
        properties);
    facts.set("identifier_fields", Json.MAPPER.valueToTree(identifierFields(table)));
    facts.put("identity", identity(table));
  }

  private static void describe(
      ObjectNode facts,
      List<String> columns,
      List<DataType> types,
      List<Transform> transforms,
      Map<String, String> properties) {
    facts.set("columns", Json.MAPPER.valueToTree(columns));
    facts.set(
        "types", Json.MAPPER.valueToTree(types.stream().map(DataType::catalogString).toList()));
    facts.set(
        "partition_columns",
        Json.MAPPER.valueToTree(
            transforms.stream().flatMap(each -> partitionColumn(each)).toList()));
    facts.set(
        "transforms",
        Json.MAPPER.valueToTree(transforms.stream().map(Transform::describe).toList()));
    facts.set("options", Json.MAPPER.valueToTree(options(properties)));
    facts.put("job", properties.getOrDefault(TablesWithJobs.JOB, ""));
    facts.put("kind", properties.getOrDefault(TablesWithJobs.KIND, ""));
  }

  private static Stream<String> partitionColumn(Transform transform) {
    return transform.name().equals("identity")
        ? Stream.of(String.join(".", transform.references()[0].fieldNames()))
        : Stream.of();
  }

  /** Returns the properties of a table, and its OPTIONS under the names that the user wrote. */
  private static Map<String, String> options(Map<String, String> properties) {
    var options = new TreeMap<String, String>();
    properties.forEach(
        (key, value) -> {
          if (key.startsWith(OPTION)) options.put(key.substring(OPTION.length()), value);
        });
    properties.forEach(
        (key, value) -> {
          if (!key.startsWith(OPTION)) options.put(key, value);
        });
    return options;
  }

  /**
   * Returns what stays the same as long as a table is the same one, whatever its name: Delta's id
   * of the metadata, Iceberg's UUID. Returns "" for a table without one.
   */
  public static String identity(Table table) {
    var type = table.getClass().getName();
    if (type.startsWith("org.apache.spark.sql.delta."))
      return get(get(get(table, "initialSnapshot"), "metadata"), "id").toString();
    if (type.startsWith("org.apache.iceberg.")) return get(get(table, "table"), "uuid").toString();
    return "";
  }

  /** Returns the columns that identify a row of an Iceberg table; empty for other tables. */
  private static Collection<?> identifierFields(Table table) {
    if (!table.getClass().getName().startsWith("org.apache.iceberg.")) return List.of();
    return (Collection<?>) get(get(get(table, "table"), "schema"), "identifierFieldNames");
  }

  /** Calls a method of a connector's class, which JetSQL is compiled without. */
  private static Object get(Object target, String method) {
    try {
      return target.getClass().getMethod(method).invoke(target);
    } catch (InvocationTargetException e) {
      throw Exceptions.raise(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw Exceptions.raise(e);
    }
  }

  /** Returns a qualified name, in which a part is quoted only if it would be read otherwise. */
  public static String name(String catalog, Identifier identifier) {
    return parts(catalog, identifier).stream()
        .map(part -> PLAIN.matcher(part).matches() ? part : Tables.quoted(part))
        .collect(Collectors.joining("."));
  }

  /** Returns the parts of a table's qualified name. */
  static List<String> parts(String catalog, Identifier identifier) {
    var parts = new ArrayList<String>(List.of(catalog));
    parts.addAll(List.of(identifier.namespace()));
    parts.add(identifier.name());
    return parts;
  }

  /**
   * Makes a session load a table again, which its catalog may have cached, if a job has written the
   * table since the session has read it. The name may be that of a metadata table of Iceberg, such
   * as `lake.a.t.files`.
   */
  static void refresh(SparkSession session, Seq<String> name) {
    var names = TableNames.qualified(session, CollectionConverters.asJava(name));
    if (!(SparkCalls.catalog(session, names.get(0)) instanceof TableCatalog tables)) return;
    for (int size = names.size(); size >= Math.max(names.size() - 1, 2); size--) {
      var identifier = identifier(names.subList(1, size));
      var key = name(names.get(0), identifier).toLowerCase(Locale.ROOT);
      if (TableVersions.hasChanged(session.sessionState().catalog(), key))
        tables.invalidateTable(identifier);
    }
  }
}
