package dev.jetsql.stream;

import static scala.jdk.javaapi.CollectionConverters.asJava;
import static scala.jdk.javaapi.CollectionConverters.asScala;

import dev.jetsql.versions.CaseClasses;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.PartialFunction;
import scala.collection.immutable.Map$;

/** The options of the file and Kafka sources of a streaming query. */
public final class SourceOptions {
  private SourceOptions() {}

  /** Returns the query with other options of its sources. */
  static LogicalPlan change(
      LogicalPlan query,
      UnaryOperator<Map<String, String>> ofTopics,
      UnaryOperator<Map<String, String>> ofFiles) {
    return query.transformDown(
        PartialFunction.fromFunction(
            node -> {
              if (node instanceof StreamingRelation files) return changeFiles(files, ofFiles);
              return isTopic(node) ? changeTopic((StreamingRelationV2) node, ofTopics) : node;
            }));
  }

  /** Returns a source of a query with other options. */
  public static LogicalPlan changeLeaf(
      LogicalPlan source, UnaryOperator<Map<String, String>> change) {
    return source instanceof StreamingRelation files
        ? changeFiles(files, change)
        : changeTopic((StreamingRelationV2) source, change);
  }

  /** Returns a source of files that plans its batches in a session. */
  static LogicalPlan in(SparkSession session, StreamingRelation relation) {
    var changed = CaseClasses.copy(relation.dataSource(), Map.of("sparkSession", session));
    return CaseClasses.copy(relation, Map.of("dataSource", changed));
  }

  /** Returns whether a leaf reads a Kafka topic as a stream. */
  static boolean isTopic(LogicalPlan leaf) {
    return leaf instanceof StreamingRelationV2 source
        && source.sourceName().equalsIgnoreCase("kafka");
  }

  private static LogicalPlan changeTopic(
      StreamingRelationV2 topic, UnaryOperator<Map<String, String>> change) {
    var options =
        new CaseInsensitiveStringMap(change.apply(topic.extraOptions().asCaseSensitiveMap()));
    return CaseClasses.copy(topic, Map.of("extraOptions", options));
  }

  private static LogicalPlan changeFiles(
      StreamingRelation relation, UnaryOperator<Map<String, String>> change) {
    var source = relation.dataSource();
    var options = Map$.MODULE$.from(asScala(change.apply(asJava(source.options()))));
    var changed = CaseClasses.copy(source, Map.of("options", options));
    return CaseClasses.copy(relation, Map.of("dataSource", changed));
  }
}
