package dev.jetsql.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalog;
import org.apache.spark.sql.catalyst.catalog.InMemoryCatalog;
import org.apache.spark.sql.internal.SQLConf;
import org.junit.jupiter.api.Test;
import scala.jdk.javaapi.FunctionConverters;

class MetastoreThreadTest {
  private final ExternalCatalog memory =
      new InMemoryCatalog(
          new org.apache.spark.SparkConf(false), new org.apache.hadoop.conf.Configuration(false));

  /** Returns a catalog whose `databaseExists` is this call. */
  private static ExternalCatalog answering(Callable<Boolean> call) {
    var type = ExternalCatalog.class;
    return (ExternalCatalog)
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> call.call());
  }

  @Test
  void anInterruptTakesEffectAfterTheCall() throws Exception {
    var begun = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    var catalog =
        new MetastoreThread(
            answering(
                () -> {
                  begun.countDown();
                  end.await();
                  return !Thread.interrupted();
                }));
    var seen = new FutureTask<>(() -> catalog.databaseExists("s") && Thread.interrupted());
    var caller = new Thread(seen);
    caller.start();
    begun.await();
    caller.interrupt();
    end.countDown();
    assertTrue(seen.get());
  }

  @Test
  void errorsAreThoseOfTheCatalog() {
    var catalog = new MetastoreThread(memory);
    assertThrows(NoSuchDatabaseException.class, () -> catalog.getTable("missing", "t"));
  }

  @Test
  void callsHaveTheSettingsAndTheClassLoaderOfTheCaller() {
    var conf = new SQLConf();
    var loader = new ClassLoader() {};
    var catalog =
        new MetastoreThread(
            answering(
                () ->
                    SQLConf.get() == conf
                        && Thread.currentThread().getContextClassLoader() == loader));
    var before = Thread.currentThread().getContextClassLoader();
    Thread.currentThread().setContextClassLoader(loader);
    try {
      assertEquals(
          true,
          SQLConf.withExistingConf(
              conf, FunctionConverters.asScalaFromSupplier(() -> catalog.databaseExists("s"))));
      assertFalse(catalog.databaseExists("s"));
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  @Test
  void aListenerCanCallTheCatalog() {
    var threads = new MetastoreThread[1];
    var nested = new Thread[1];
    threads[0] =
        new MetastoreThread(
            answering(
                () -> {
                  if (nested[0] != null) return nested[0] == Thread.currentThread();
                  nested[0] = Thread.currentThread();
                  return threads[0].databaseExists("s");
                }));
    assertTrue(threads[0].databaseExists("s"));
    assertSame(nested[0].getName(), "jetsql-metastore");
  }
}
