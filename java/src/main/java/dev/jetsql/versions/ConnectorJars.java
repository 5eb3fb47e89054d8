package dev.jetsql.versions;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.File;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.util.DependencyUtils$;
import org.apache.spark.util.MavenUtils$;
import org.apache.spark.util.MutableURLClassLoader;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Loads connectors of Spark that are not part of its distribution. Spark's resolver fetches them
 * from Maven. The jars are added to the class loader of `spark.jars`, so that the engine need not
 * restart.
 */
public final class ConnectorJars {
  private static final Map<String, List<String>> LOADED = new HashMap<>();

  private ConnectorJars() {}

  /** Returns whether Spark can load a class. */
  public static boolean has(String className) {
    try {
      Class.forName(className, false, ConnectorJars.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /**
   * Loads a connector if it is not loaded, and returns the paths of its jars, which the executors
   * need as well; none if Spark was started with it. Throws EXTERNAL_SYSTEM_UNAVAILABLE if Maven
   * cannot be reached; the message lists the ways to supply the jars.
   *
   * @param connector its key in `connectors.properties`
   * @param module what the error calls it
   * @param className a class of it
   */
  public static synchronized List<String> load(String connector, String module, String className) {
    if (has(className)) return LOADED.getOrDefault(connector, List.of());
    List<String> jars;
    try {
      jars = fetch(connector);
    } catch (Exception e) { // a Scala method declares no checked exception
      throw missing(module, connector, e.getMessage());
    }
    if (!has(className)) throw missing(module, connector, "the fetched jars do not contain it.");
    LOADED.put(connector, jars);
    return jars;
  }

  private static List<String> fetch(String connector) throws Exception {
    var loader = loader();
    var all = new ArrayList<String>();
    for (URI uri : Connectors.packages(connector)) {
      for (String jar : resolve(uri)) {
        loader.addURL(new File(jar).toURI().toURL());
        all.add(jar);
      }
    }
    return all;
  }

  /**
   * Returns the paths of a package and its dependencies. Spark asks the local repository of Maven
   * first, and fails if it has the description of a dependency without its jar, as any use of Maven
   * leaves them. So it is asked only when the others fail.
   */
  private static List<String> resolve(URI uri) throws Exception {
    if (DependencyUtils$.MODULE$.getIvyProperties().ivySettingsPath() != null)
      return CollectionConverters.asJava(DependencyUtils$.MODULE$.resolveMavenDependencies(uri));
    try {
      return resolve(uri, false);
    } catch (Exception e) { // a Scala method declares no checked exception
      try {
        return resolve(uri, true);
      } catch (Exception second) {
        e.addSuppressed(second);
        throw e;
      }
    }
  }

  private static List<String> resolve(URI uri, boolean fromLocalRepository) {
    var maven = MavenUtils$.MODULE$;
    var properties = DependencyUtils$.MODULE$.getIvyProperties();
    var settings =
        maven.buildIvySettings(
            Option.apply(properties.repositories()),
            Option.apply(properties.ivyRepoPath()),
            fromLocalRepository,
            System.err);
    var query = maven.parseQueryParams(uri);
    var excluded = Arrays.stream(query._2().split(",")).filter(each -> !each.isEmpty()).toList();
    var jars =
        maven.resolveMavenCoordinates(
            uri.getAuthority(),
            settings,
            Option.empty(),
            (Boolean) query._1(),
            CollectionConverters.asScala(excluded).toSeq(),
            false,
            System.err);
    return CollectionConverters.asJava(jars);
  }

  /**
   * Returns the loader of `spark.jars`, which is a parent of the loaders of all sessions and
   * threads.
   */
  private static MutableURLClassLoader loader() {
    MutableURLClassLoader outermost = null;
    for (ClassLoader ancestor = ConnectorJars.class.getClassLoader();
        ancestor != null;
        ancestor = ancestor.getParent()) {
      if (ancestor instanceof MutableURLClassLoader mutable) outermost = mutable;
    }
    if (outermost == null) {
      throw new IllegalStateException(
          "Cannot add classes to this Spark: it has no class loader for spark.jars.");
    }
    return outermost;
  }

  private static RuntimeException missing(String module, String connector, String reason) {
    var name = Connectors.mavenName(Connectors.packages(connector).get(0));
    return Exceptions.raise(
        JetSqlException.of(
            "EXTERNAL_SYSTEM_UNAVAILABLE",
            "08001",
            "Cannot fetch "
                + module
                + ": "
                + reason
                + " Let the engine reach Maven Central, name a mirror with"
                + " --conf spark.jars.repositories=URL, or start it with the jars of "
                + name
                + " in --conf spark.jars=..."));
  }
}
