import java.net.URI;
import org.apache.spark.util.DependencyUtils;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Prints the files of Maven packages, one a line, each after the URI of its package and a tab. Spark's own resolver
 * fetches them: with its cache (`~/.ivy2*`), and from its repositories (`spark.jars.repositories`, a property of this
 * Java). Arguments: `ivy://` URIs.
 */
class Resolve {
  public static void main(String[] uris) throws Exception {
    for (var uri : uris) {
      for (var file : CollectionConverters.asJava(DependencyUtils.resolveMavenDependencies(new URI(uri)))) {
        System.out.println(uri + "\t" + file);
      }
    }
  }
}
