package dev.jetsql.catalog;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.UninterruptedCalls;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogDatabase;
import org.apache.spark.sql.catalyst.catalog.CatalogFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTablePartition;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction0;

/**
 * A catalog whose calls run on a thread of their own, so that no interrupt reaches them.
 *
 * <p>Spark interrupts the thread of a streaming query that stops, and that of a cancelled
 * statement. In a call of Hive's metastore, an interrupt loses a connection of its pool: after
 * eight of them, every further call of the engine would wait for ever. It also lets Hive report
 * that a schema or table does not exist. So an interrupt takes effect after the call, which takes
 * milliseconds.
 *
 * <p>One thread is enough: Spark's client of Hive runs one call at a time. The metastore keeps data
 * for each thread that has called it, also for threads that have ended.
 */
final class MetastoreThread implements ExternalCatalog {
  private static final long IDLE_MINUTES = 60;

  private final ExternalCatalog catalog;
  private final ThreadPoolExecutor executor =
      new ThreadPoolExecutor(
          1, 1, IDLE_MINUTES, TimeUnit.MINUTES, new LinkedBlockingQueue<>(), this::createThread);
  private volatile Thread thread;

  MetastoreThread(ExternalCatalog catalog) {
    this.catalog = catalog;
    executor.allowCoreThreadTimeOut(true);
  }

  @Override
  public void createDatabase(CatalogDatabase schema, boolean ignoresExisting) {
    run(() -> catalog.createDatabase(schema, ignoresExisting));
  }

  @Override
  public void dropDatabase(String schema, boolean ignoresMissing, boolean cascades) {
    run(() -> catalog.dropDatabase(schema, ignoresMissing, cascades));
  }

  @Override
  public void alterDatabase(CatalogDatabase schema) {
    run(() -> catalog.alterDatabase(schema));
  }

  @Override
  public CatalogDatabase getDatabase(String schema) {
    return call(() -> catalog.getDatabase(schema));
  }

  @Override
  public boolean databaseExists(String schema) {
    return call(() -> catalog.databaseExists(schema));
  }

  @Override
  public Seq<String> listDatabases() {
    return call(() -> catalog.listDatabases());
  }

  @Override
  public Seq<String> listDatabases(String pattern) {
    return call(() -> catalog.listDatabases(pattern));
  }

  @Override
  public void setCurrentDatabase(String schema) {
    run(() -> catalog.setCurrentDatabase(schema));
  }

  @Override
  public void createTable(CatalogTable table, boolean ignoresExisting) {
    run(() -> catalog.createTable(table, ignoresExisting));
  }

  @Override
  public void dropTable(String schema, String name, boolean ignoresMissing, boolean purges) {
    run(() -> catalog.dropTable(schema, name, ignoresMissing, purges));
  }

  @Override
  public void renameTable(String schema, String name, String newName) {
    run(() -> catalog.renameTable(schema, name, newName));
  }

  @Override
  public void alterTable(CatalogTable table) {
    run(() -> catalog.alterTable(table));
  }

  @Override
  public void alterTableDataSchema(String schema, String name, StructType columns) {
    run(() -> catalog.alterTableDataSchema(schema, name, columns));
  }

  @Override
  public void alterTableSchema(String schema, String name, StructType columns) {
    run(() -> catalog.alterTableSchema(schema, name, columns));
  }

  @Override
  public void alterTableStats(String schema, String name, Option<CatalogStatistics> statistics) {
    run(() -> catalog.alterTableStats(schema, name, statistics));
  }

  @Override
  public CatalogTable getTable(String schema, String name) {
    return call(() -> catalog.getTable(schema, name));
  }

  @Override
  public Seq<CatalogTable> getTablesByName(String schema, Seq<String> names) {
    return call(() -> catalog.getTablesByName(schema, names));
  }

  @Override
  public boolean tableExists(String schema, String name) {
    return call(() -> catalog.tableExists(schema, name));
  }

  @Override
  public Seq<String> listTables(String schema) {
    return call(() -> catalog.listTables(schema));
  }

  @Override
  public Seq<String> listTables(String schema, String pattern) {
    return call(() -> catalog.listTables(schema, pattern));
  }

  @Override
  public Seq<String> listViews(String schema, String pattern) {
    return call(() -> catalog.listViews(schema, pattern));
  }

  @Override
  public void loadTable(
      String schema, String name, String path, boolean overwrites, boolean isLocal) {
    run(() -> catalog.loadTable(schema, name, path, overwrites, isLocal));
  }

  @Override
  public void loadPartition(
      String schema,
      String name,
      String path,
      Map<String, String> partition,
      boolean overwrites,
      boolean inheritsSpec,
      boolean isLocal) {
    run(
        () ->
            catalog.loadPartition(
                schema, name, path, partition, overwrites, inheritsSpec, isLocal));
  }

  @Override
  public void loadDynamicPartitions(
      String schema,
      String name,
      String path,
      Map<String, String> partition,
      boolean overwrites,
      int count) {
    run(() -> catalog.loadDynamicPartitions(schema, name, path, partition, overwrites, count));
  }

  @Override
  public void createPartitions(
      String schema, String name, Seq<CatalogTablePartition> partitions, boolean ignoresExisting) {
    run(() -> catalog.createPartitions(schema, name, partitions, ignoresExisting));
  }

  @Override
  public void dropPartitions(
      String schema,
      String name,
      Seq<Map<String, String>> partitions,
      boolean ignoresMissing,
      boolean purges,
      boolean keepsData) {
    run(() -> catalog.dropPartitions(schema, name, partitions, ignoresMissing, purges, keepsData));
  }

  @Override
  public void renamePartitions(
      String schema,
      String name,
      Seq<Map<String, String>> partitions,
      Seq<Map<String, String>> newPartitions) {
    run(() -> catalog.renamePartitions(schema, name, partitions, newPartitions));
  }

  @Override
  public void alterPartitions(String schema, String name, Seq<CatalogTablePartition> partitions) {
    run(() -> catalog.alterPartitions(schema, name, partitions));
  }

  @Override
  public CatalogTablePartition getPartition(
      String schema, String name, Map<String, String> partition) {
    return call(() -> catalog.getPartition(schema, name, partition));
  }

  @Override
  public Option<CatalogTablePartition> getPartitionOption(
      String schema, String name, Map<String, String> partition) {
    return call(() -> catalog.getPartitionOption(schema, name, partition));
  }

  @Override
  public Seq<String> listPartitionNames(
      String schema, String name, Option<Map<String, String>> partition) {
    return call(() -> catalog.listPartitionNames(schema, name, partition));
  }

  @Override
  public Seq<CatalogTablePartition> listPartitions(
      String schema, String name, Option<Map<String, String>> partition) {
    return call(() -> catalog.listPartitions(schema, name, partition));
  }

  @Override
  public Seq<CatalogTablePartition> listPartitionsByFilter(
      String schema, String name, Seq<Expression> predicates, String timeZone) {
    return call(() -> catalog.listPartitionsByFilter(schema, name, predicates, timeZone));
  }

  @Override
  public void createFunction(String schema, CatalogFunction function) {
    run(() -> catalog.createFunction(schema, function));
  }

  @Override
  public void dropFunction(String schema, String name) {
    run(() -> catalog.dropFunction(schema, name));
  }

  @Override
  public void alterFunction(String schema, CatalogFunction function) {
    run(() -> catalog.alterFunction(schema, function));
  }

  @Override
  public void renameFunction(String schema, String name, String newName) {
    run(() -> catalog.renameFunction(schema, name, newName));
  }

  @Override
  public CatalogFunction getFunction(String schema, String name) {
    return call(() -> catalog.getFunction(schema, name));
  }

  @Override
  public boolean functionExists(String schema, String name) {
    return call(() -> catalog.functionExists(schema, name));
  }

  @Override
  public Seq<String> listFunctions(String schema, String pattern) {
    return call(() -> catalog.listFunctions(schema, pattern));
  }

  private void run(Runnable work) {
    call(
        () -> {
          work.run();
          return null;
        });
  }

  /** Runs a call with the session, the settings and the class loader of the caller. */
  private <T> T call(Callable<T> work) {
    var caller = Thread.currentThread();
    try {
      if (caller == thread) return work.call(); // a listener of the catalog calls it
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
    var session = SparkSession.getActiveSession();
    var conf = SQLConf.get();
    var loader = caller.getContextClassLoader();
    return UninterruptedCalls.await(
        executor.submit(
            () -> {
              thread.setContextClassLoader(loader);
              if (session.isDefined()) SparkSession.setActiveSession(session.get());
              try {
                return SQLConf.withExistingConf(conf, function(work));
              } finally {
                SparkSession.clearActiveSession();
                thread.setContextClassLoader(null);
              }
            }));
  }

  private static <T> AbstractFunction0<T> function(Callable<T> work) {
    return new AbstractFunction0<>() {
      @Override
      public T apply() {
        try {
          return work.call();
        } catch (Exception e) {
          throw Exceptions.raise(e);
        }
      }
    };
  }

  private Thread createThread(Runnable work) {
    thread = new Thread(null, work, "jetsql-metastore", 0, false);
    thread.setDaemon(true);
    return thread;
  }
}
