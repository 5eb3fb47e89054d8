package dev.jetsql.functions;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import dev.jetsql.common.PartialFunctions;
import dev.jetsql.versions.SparkCalls;
import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogFunction;
import org.apache.spark.sql.catalyst.catalog.FunctionResource;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.CreateFunctionCommand;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Refuses a function whose class would come from another jar than the one that `USING JAR` names.
 *
 * <p>All sessions and jobs of an engine share the class loader of added jars, in which the first
 * jar with a class hides all later ones. So a function could run the code of another user's
 * function, depending on which one was called first after the start of the engine. The rule runs
 * before Spark adds the jar, because executors may search the added jars in another order.
 */
public final class FunctionJars extends Rule<LogicalPlan> {
  private final SparkSession session;

  public FunctionJars(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof CreateFunctionCommand create && create.isTemp()) {
      check(create.identifier(), create.className(), create.resources(), create.origin());
    }
    for (var node :
        CollectionConverters.asJava(plan.collect(PartialFunctions.<LogicalPlan>everything()))) {
      if (node instanceof UnresolvedTableValuedFunction call) check(call.name(), call.origin());
      for (var expression : CollectionConverters.asJava(node.expressions())) {
        for (var part :
            CollectionConverters.asJava(
                expression.collect(PartialFunctions.<Expression>everything()))) {
          if (part instanceof UnresolvedFunction call) check(call.nameParts(), call.origin());
        }
      }
    }
    return plan;
  }

  private void check(Seq<String> name, Origin origin) {
    var function = find(name);
    if (function == null) return;
    check(function.identifier(), function.className(), function.resources(), origin);
  }

  private void check(
      FunctionIdentifier name, String type, Seq<FunctionResource> resources, Origin origin) {
    var jars =
        CollectionConverters.asJava(resources).stream()
            .filter(resource -> resource.resourceType().resourceType().equals("jar"))
            .map(FunctionResource::uri)
            .toList();
    var loaded = jars.isEmpty() ? null : addedJar(type);
    if (loaded == null || jars.stream().anyMatch(jar -> isSame(jar, loaded))) return;
    throw Exceptions.raise(
        JetSqlException.at(
            origin,
            "CLASS_IN_OTHER_JAR",
            "42710",
            "Cannot use the function "
                + name.unquotedString()
                + ": its class "
                + type
                + " in "
                + String.join(", ", jars)
                + " is hidden by the class of the same name in "
                + loaded.getPath()
                + ", which was added before."));
  }

  /** Returns the added jar from which a class is or would be loaded, or null if there is none. */
  private URL addedJar(String type) {
    var file = type.replace('.', '/') + ".class";
    var added = session.sharedState().jarClassLoader();
    // A class of Spark or of a connector hides all others, in each run of the engine.
    if (added.getParent().getResource(file) != null) return null;
    var found = added.findResource(file);
    return found == null ? null : jarOf(found);
  }

  /** Returns the jar of an entry, whose URL is `jar:URL!/NAME`. */
  private static URL jarOf(URL entry) {
    var text = entry.getPath();
    try {
      return URI.create(text.substring(0, text.lastIndexOf("!/"))).toURL();
    } catch (IOException | RuntimeException error) {
      return entry;
    }
  }

  /**
   * Returns whether the resource of a function and an added jar are one file, or have one content.
   */
  private static boolean isSame(String resource, URL added) {
    try {
      var uri = URI.create(resource);
      var one = uri.getScheme() == null ? Path.of(resource) : path(uri);
      var other = path(added.toURI());
      if (one == null || other == null) return nameOf(resource).equals(nameOf(added.getPath()));
      return one.equals(other) || Files.mismatch(one, other) < 0;
    } catch (Exception error) { // a URL that is no URI, a file that is gone: Spark reports it
      return true;
    }
  }

  private static Path path(URI uri) {
    return "file".equals(uri.getScheme()) ? Path.of(uri.getPath()) : null;
  }

  private static String nameOf(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }

  /** Returns the function of Spark's catalog with a name, or null. */
  private CatalogFunction find(Seq<String> name) {
    var catalog = session.sessionState().catalog();
    if (name.size() == 1
        && (catalog.lookupBuiltinOrTempFunction(name.last()).isDefined()
            || catalog.lookupBuiltinOrTempTableFunction(name.last()).isDefined())) return null;
    return schemas(name).stream()
        .map(schema -> new FunctionIdentifier(name.last(), Option.apply(schema)))
        .filter(catalog::isPersistentFunction)
        .map(catalog::getFunctionMetadata)
        .findFirst()
        .orElse(null);
  }

  /** Returns the schemas of Spark's catalog in which a function with this name can be. */
  private List<String> schemas(Seq<String> name) {
    if (name.size() == 3) {
      return name.head().equalsIgnoreCase(PythonFunctions.CATALOG)
          ? List.of(name.apply(1))
          : List.of();
    }
    if (name.size() > 3) return List.of();
    return CollectionConverters.asJava(SparkCalls.functionPath(session)).stream()
        .filter(entry -> entry.size() == 2)
        .filter(entry -> entry.head().equalsIgnoreCase(PythonFunctions.CATALOG))
        .map(entry -> name.size() == 2 ? name.head() : entry.last())
        .filter(Objects::nonNull)
        .distinct()
        .toList();
  }
}
