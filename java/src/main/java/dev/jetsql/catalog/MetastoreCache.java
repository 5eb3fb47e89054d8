package dev.jetsql.catalog;

import dev.jetsql.catalog.ObjectChanges.Kind;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.catalog.AlterTablePreEvent;
import org.apache.spark.sql.catalyst.catalog.CatalogDatabase;
import org.apache.spark.sql.catalyst.catalog.CatalogFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CreateTablePreEvent;
import org.apache.spark.sql.catalyst.catalog.DatabaseEvent;
import org.apache.spark.sql.catalyst.catalog.DropTablePreEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEventListener;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.catalyst.catalog.RenameTableEvent;
import org.apache.spark.sql.catalyst.catalog.RenameTablePreEvent;
import org.apache.spark.sql.catalyst.catalog.TableEvent;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.hive.HiveExternalCatalog;
import org.apache.spark.sql.internal.SharedState;

/**
 * The schemas and tables that Spark has read from the metastore, in memory. A metastore on Derby
 * takes milliseconds to answer, one in a database more, and Spark asks it several times for each
 * table of a statement.
 *
 * <p>A metastore on Derby belongs to this process alone. Spark's catalog reports each change as an
 * event before and after it, also those of sessions that do not use this cache. A metastore in a
 * database or behind a service is changed by other programs, too, so it is asked again each time,
 * but for the start of a job, which reads each table once.
 */
public final class MetastoreCache extends ExternalCatalogWithListener {
  private static final String DERBY = "jdbc:derby:";
  private static final String DERBY_SERVER = "jdbc:derby://";
  private static final ThreadLocal<Answers> ofThread = new ThreadLocal<>();

  private final ExternalCatalogWithListener events;
  private final ExternalCatalog catalog;
  private final Answers kept;

  /**
   * Creates the cache.
   *
   * @param events the catalog that reports the changes of all sessions
   * @param catalog the same, or one that calls it
   * @param isPrivate whether only this process changes the metastore
   */
  MetastoreCache(ExternalCatalogWithListener events, ExternalCatalog catalog, boolean isPrivate) {
    super(catalog);
    this.events = events;
    this.catalog = catalog;
    this.kept = isPrivate ? new Answers() : null;
    if (isPrivate) events.addListener(kept);
  }

  /** What is known, by name. What is missing is not kept, and neither is what changes now. */
  private static final class Entries<T> {
    private final Map<String, T> known = new HashMap<>();
    private final Set<String> changing = new HashSet<>();
    private long changes;

    synchronized boolean contains(String key) {
      return known.containsKey(key);
    }

    /** Returns an entry. read: reads it from the metastore; may return null */
    T get(String key, Supplier<T> read) {
      long before;
      synchronized (this) {
        var entry = known.get(key);
        if (entry != null) return entry;
        before = changes;
      }
      var entry = read.get();
      synchronized (this) {
        // Otherwise it may have been read before the change.
        var isNewest = before == changes && !changing.contains(key);
        if (entry != null && isNewest) known.put(key, entry);
      }
      return entry;
    }

    /** Forgets an entry that changes from now on. If the change fails, it is not kept any more. */
    synchronized void startChange(String key) {
      changing.add(key);
      forget(key);
    }

    synchronized void endChange(String key) {
      changing.remove(key);
      forget(key);
    }

    synchronized void clear() {
      changes++;
      known.clear();
    }

    private void forget(String key) {
      changes++;
      known.remove(key);
    }
  }

  /** The answers of a metastore: the schemas that exist, and the tables. */
  private static final class Answers implements ExternalCatalogEventListener {
    private int depth;
    private final Entries<Boolean> schemas = new Entries<>();
    private final Entries<CatalogTable> tables = new Entries<>();

    @Override
    public void onEvent(ExternalCatalogEvent event) {
      if (event instanceof TableEvent changed) {
        var key = key(changed.database(), changed.name());
        if (isBefore(event)) tables.startChange(key);
        else tables.endChange(key);
        if (event instanceof RenameTableEvent renamed)
          tables.endChange(key(renamed.database(), renamed.newName()));
      } else if (event instanceof DatabaseEvent) {
        schemas.clear();
        tables.clear();
      }
    }

    private static boolean isBefore(ExternalCatalogEvent event) {
      return event instanceof CreateTablePreEvent
          || event instanceof DropTablePreEvent
          || event instanceof RenameTablePreEvent
          || event instanceof AlterTablePreEvent;
    }
  }

  /**
   * Adds the cache to the catalog of a session, and of all sessions of its Spark. The field is
   * private: Spark chooses between two catalogs of its own and accepts no other.
   */
  public static void install(SparkSession session) throws ReflectiveOperationException {
    synchronized (MetastoreCache.class) {
      var state = session.sharedState();
      var events = state.externalCatalog();
      if (events instanceof MetastoreCache) return;
      var isHive = events.unwrapped() instanceof HiveExternalCatalog;
      var catalog = isHive ? new MetastoreThread(events) : events;
      var isPrivate = isPrivate(session.sparkContext().hadoopConfiguration());
      var cache = new MetastoreCache(events, catalog, isPrivate);
      Sessions.set(SharedState.class, state, "externalCatalog", cache);
    }
  }

  /** Lets this thread read each table from the metastore at most once, until `endReads`. */
  public static void beginReads(SparkSession session) {
    if (session.sharedState().externalCatalog() instanceof MetastoreCache cache) cache.beginReads();
  }

  /** Ends what `beginReads` began; after several calls of it, the last call ends it. */
  public static void endReads(SparkSession session) {
    if (session.sharedState().externalCatalog() instanceof MetastoreCache cache) cache.endReads();
  }

  public void beginReads() {
    if (kept != null) return;
    var answers = ofThread.get();
    if (answers == null) {
      answers = new Answers();
      ofThread.set(answers);
      events.addListener(answers);
    }
    answers.depth++;
  }

  public void endReads() {
    var answers = ofThread.get();
    if (answers == null || --answers.depth > 0) return;
    ofThread.remove();
    events.removeListener(answers);
  }

  /** Returns the catalog of a session that reports the changes of all sessions. */
  public static ExternalCatalogWithListener events(SparkSession session) {
    var catalog = session.sharedState().externalCatalog();
    return catalog instanceof MetastoreCache cache ? cache.events : catalog;
  }

  /**
   * Returns whether no other process can change a metastore: an embedded Derby locks its folder.
   */
  static boolean isPrivate(Configuration conf) {
    String url = conf.get("javax.jdo.option.ConnectionURL", "");
    return url.startsWith(DERBY)
        && !url.startsWith(DERBY_SERVER)
        && conf.get("hive.metastore.uris", "").isEmpty();
  }

  @Override
  public ExternalCatalog unwrapped() {
    return events.unwrapped();
  }

  @Override
  public boolean databaseExists(String schema) {
    var answers = answers();
    if (answers == null) return catalog.databaseExists(schema);
    Supplier<Boolean> read = () -> catalog.databaseExists(schema) ? true : null;
    return answers.schemas.get(lower(schema), read) != null;
  }

  @Override
  public boolean tableExists(String schema, String name) {
    var answers = answers();
    return (answers != null && answers.tables.contains(key(schema, name)))
        || catalog.tableExists(schema, name);
  }

  @Override
  public CatalogTable getTable(String schema, String name) {
    var answers = answers();
    return answers == null
        ? catalog.getTable(schema, name)
        : answers.tables.get(key(schema, name), () -> catalog.getTable(schema, name));
  }

  // The engine keeps owners and rights, and a change that fails leaves them as they were.

  @Override
  public void createDatabase(CatalogDatabase schema, boolean ignoresExisting) {
    Runnable creation = () -> super.createDatabase(schema, ignoresExisting);
    if (databaseExists(schema.name())) creation.run();
    else ObjectChanges.create(Kind.SCHEMA, List.of(Tables.CATALOG, schema.name()), creation);
  }

  @Override
  public void dropDatabase(String schema, boolean ignoresMissing, boolean cascades) {
    super.dropDatabase(schema, ignoresMissing, cascades);
    ObjectChanges.drop(Kind.SCHEMA, List.of(Tables.CATALOG, schema));
  }

  @Override
  public void createTable(CatalogTable table, boolean ignoresExisting) {
    var name = table.identifier();
    Runnable creation = () -> super.createTable(table, ignoresExisting);
    if (tableExists(name.database().get(), name.table())) creation.run();
    else ObjectChanges.create(Kind.TABLE, qualified(name.database().get(), name.table()), creation);
  }

  @Override
  public void dropTable(String schema, String name, boolean ignoresMissing, boolean purges) {
    if (tableExists(schema, name)) TablesWithJobs.refuseDrop(getTable(schema, name));
    super.dropTable(schema, name, ignoresMissing, purges);
    ObjectChanges.drop(Kind.TABLE, qualified(schema, name));
  }

  @Override
  public void renameTable(String schema, String name, String newName) {
    Runnable renaming = () -> super.renameTable(schema, name, newName);
    if (tableExists(schema, newName) || !tableExists(schema, name)) renaming.run();
    else
      ObjectChanges.rename(
          Kind.TABLE, qualified(schema, name), qualified(schema, newName), renaming);
  }

  @Override
  public void createFunction(String schema, CatalogFunction function) {
    var name = function.identifier().funcName();
    Runnable creation = () -> super.createFunction(schema, function);
    if (functionExists(schema, name)) creation.run();
    else ObjectChanges.create(Kind.FUNCTION, qualified(schema, name), creation);
  }

  @Override
  public void dropFunction(String schema, String name) {
    super.dropFunction(schema, name);
    ObjectChanges.drop(Kind.FUNCTION, qualified(schema, name));
  }

  private static List<String> qualified(String schema, String name) {
    return List.of(Tables.CATALOG, schema, name);
  }

  private Answers answers() {
    return kept == null ? ofThread.get() : kept;
  }

  // Spark reports no event for these changes, which may update the properties of a table of Hive.

  @Override
  public void loadTable(
      String schema, String name, String path, boolean overwrites, boolean isLocal) {
    changing(schema, name, () -> catalog.loadTable(schema, name, path, overwrites, isLocal));
  }

  @Override
  public void loadPartition(
      String schema,
      String name,
      String path,
      scala.collection.immutable.Map<String, String> partition,
      boolean overwrites,
      boolean inheritsSpec,
      boolean isLocal) {
    changing(
        schema,
        name,
        () ->
            catalog.loadPartition(
                schema, name, path, partition, overwrites, inheritsSpec, isLocal));
  }

  @Override
  public void loadDynamicPartitions(
      String schema,
      String name,
      String path,
      scala.collection.immutable.Map<String, String> partition,
      boolean overwrites,
      int count) {
    changing(
        schema,
        name,
        () -> catalog.loadDynamicPartitions(schema, name, path, partition, overwrites, count));
  }

  private void changing(String schema, String name, Runnable change) {
    if (kept != null) kept.tables.startChange(key(schema, name));
    try {
      change.run();
    } finally {
      if (kept != null) kept.tables.endChange(key(schema, name));
    }
  }

  private static String key(String schema, String name) {
    return lower(schema) + "." + lower(name);
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
