package dev.jetsql.versions;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;

/**
 * The packages of connectors that fit the running Spark. Only `connectors.properties` names their
 * versions.
 */
public final class Connectors {
  private static final Properties PACKAGES = packages();

  private Connectors() {}

  /** Returns the URIs of a connector's packages for Spark's resolver. */
  public static List<URI> packages(String connector) {
    String uris = PACKAGES.getProperty(connector + "." + SparkVersion.name());
    if (uris == null) {
      throw new IllegalStateException(
          "No " + connector + " connector is known for Spark " + SparkVersion.name() + ".");
    }
    var all =
        uris.replace("S3_EXCLUDED", PACKAGES.getProperty("s3_excluded"))
            .replace("EXCLUDED", PACKAGES.getProperty("excluded"));
    return Pattern.compile("\\s+").splitAsStream(all).map(URI::create).toList();
  }

  /** Returns whether a connector has a release for the running Spark. */
  public static boolean has(String connector) {
    return PACKAGES.containsKey(connector + "." + SparkVersion.name());
  }

  /** Returns the newest Spark that a connector has a release for. */
  public static String newestSpark(String connector) {
    return PACKAGES.stringPropertyNames().stream()
        .filter(key -> key.startsWith(connector + "."))
        .map(key -> key.substring(connector.length() + 1))
        .max(Comparator.comparing(Connectors::minor))
        .orElseThrow();
  }

  private static Integer minor(String version) {
    return Integer.valueOf(version.substring(version.indexOf('.') + 1));
  }

  /** Returns a package as Maven names it, such as `org.apache.spark:spark-avro_2.13:4.1.1`. */
  public static String mavenName(URI uri) {
    return uri.toString().replaceAll("^ivy://|\\?.*", "");
  }

  private static Properties packages() {
    var packages = new Properties();
    try (var file = Connectors.class.getResourceAsStream("connectors.properties")) {
      packages.load(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return packages;
  }
}
