package dev.jetsql.sql;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

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
}
