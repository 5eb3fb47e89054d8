package dev.jetsql.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.jetsql.common.Sequences;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogWithListener;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.collection.immutable.Map$;

class MetastoreCacheTest {
  private static final String URL = "javax.jdo.option.ConnectionURL";

  @Test
  void onlyAnEmbeddedMetastoreIsPrivate() {
    assertTrue(isPrivate(URL, "jdbc:derby:;databaseName=/home/metastore;create=true"));
    assertFalse(isPrivate(URL, "jdbc:derby://server:1527/metastore"));
    assertFalse(isPrivate(URL, "jdbc:postgresql://server/metastore"));
    assertFalse(isPrivate("unrelated", ""));
  }

  @Test
  void aServiceIsNotPrivateWhateverItsOtherSettings() {
    var conf = new Configuration(false);
    conf.set(URL, "jdbc:derby:;databaseName=metastore");
    conf.set("hive.metastore.uris", "thrift://server:9083");
    assertFalse(MetastoreCache.isPrivate(conf));
  }

  private static boolean isPrivate(String key, String value) {
    var conf = new Configuration(false);
    conf.set(key, value);
    return MetastoreCache.isPrivate(conf);
  }

  private final Metastore metastore = new Metastore();
  private final ExternalCatalogWithListener events =
      new ExternalCatalogWithListener(metastore.asCatalog());

  /** A metastore with the table `s.t` that counts how often a table is read. */
  private static final class Metastore implements InvocationHandler {
    private final Set<String> tables = new HashSet<>(Set.of("t"));
    private int reads;

    ExternalCatalog asCatalog() {
      var type = ExternalCatalog.class;
      return (ExternalCatalog)
          Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, this);
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) {
      return switch (method.getName()) {
        case "getTable" -> {
          reads++;
          yield table((String) arguments[1]);
        }
        case "tableExists" -> tables.contains((String) arguments[1]);
        case "databaseExists" -> "s".equals(arguments[0]);
        case "createTable" -> done(tables.add(((CatalogTable) arguments[0]).identifier().table()));
        case "dropTable" -> done(tables.remove((String) arguments[1]));
        case "alterTable" -> null;
        default -> throw new UnsupportedOperationException(method.getName());
      };
    }

    /** Returns the result of a method without one. isChanged: whether it had an effect */
    private static Object done(boolean isChanged) {
      assertTrue(isChanged);
      return null;
    }
  }

  private static CatalogTable table(String name) {
    return new CatalogTable(
        new TableIdentifier(name, Option.apply("s")),
        CatalogTableType.EXTERNAL(),
        CatalogStorageFormat.empty(),
        new StructType(),
        Option.empty(),
        Sequences.of(),
        Option.empty(),
        "",
        0,
        0,
        "",
        Map$.MODULE$.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Sequences.of(),
        false,
        true,
        Map$.MODULE$.empty(),
        Option.empty(),
        Option.empty());
  }

  @Test
  void aPrivateMetastoreIsReadOncePerChange() {
    var cache = new MetastoreCache(events, events, /* isPrivate= */ true);
    for (int i = 0; i < 3; i++) cache.getTable("s", "t");
    cache.getTable("S", "T");
    assertTrue(cache.tableExists("s", "t"));
    assertEquals(1, metastore.reads);
    events.alterTable(table("t"));
    cache.getTable("s", "t");
    assertEquals(2, metastore.reads);
  }

  @Test
  void aSharedMetastoreIsReadEachTime() {
    var cache = new MetastoreCache(events, events, /* isPrivate= */ false);
    for (int i = 0; i < 3; i++) cache.getTable("s", "t");
    assertEquals(3, metastore.reads);
  }

  @Test
  void aThreadReadsATableOfASharedMetastoreOnceUntilItEnds() {
    var cache = new MetastoreCache(events, events, /* isPrivate= */ false);
    cache.beginReads();
    cache.getTable("s", "t");
    cache.beginReads();
    cache.getTable("s", "t");
    cache.endReads();
    cache.getTable("s", "t");
    assertEquals(1, metastore.reads);
    events.alterTable(table("t"));
    cache.getTable("s", "t");
    assertEquals(2, metastore.reads);
    cache.endReads();
    cache.getTable("s", "t");
    assertEquals(3, metastore.reads);
    assertTrue(events.listeners().isEmpty());
  }

  @Test
  void whatIsMissingIsAskedForAgain() {
    var cache = new MetastoreCache(events, events, /* isPrivate= */ true);
    assertFalse(cache.databaseExists("other"));
    assertFalse(cache.tableExists("s", "other"));
    events.createTable(table("other"), false);
    assertTrue(cache.tableExists("s", "other"));
    events.dropTable("s", "other", false, false);
    assertFalse(cache.tableExists("s", "other"));
  }
}
