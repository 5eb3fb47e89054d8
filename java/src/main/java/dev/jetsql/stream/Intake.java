package dev.jetsql.stream;

import dev.jetsql.common.JobContext;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * How much of its sources a look takes at a time, where they can be told and the table does not say it: the first batch
 * would else be all that there is, before anything is seen of it. Files come however old they are, as in jobs.
 */
class Intake extends AbstractPartialFunction {
  private static final String FILE_BYTES = "16777216";
  private static final String KAFKA_RECORDS = "50000";

  static LogicalPlan bounded(LogicalPlan plan) { return (LogicalPlan) plan.transformDown(new Intake()); }

  public boolean isDefinedAt(Object node) {
    return node instanceof StreamingRelation
        || node instanceof StreamingRelationV2 && ((StreamingRelationV2) node).sourceName().equalsIgnoreCase("kafka");
  }

  public Object applyOrElse(Object node, scala.Function1 otherwise) {
    if (!isDefinedAt(node)) return otherwise.apply(node);
    if (node instanceof StreamingRelation) return files((StreamingRelation) node);
    StreamingRelationV2 topic = (StreamingRelationV2) node;
    Map options = new HashMap(topic.extraOptions().asCaseSensitiveMap());
    if (!has(options, "maxOffsetsPerTrigger")) options.put("maxOffsetsPerTrigger", KAFKA_RECORDS);
    return topic.copy(topic.source(), topic.sourceName(), topic.table(), new CaseInsensitiveStringMap(options),
        topic.output(), topic.catalog(), topic.identifier(), topic.v1Relation(), topic.sourceIdentifyingName());
  }

  private static LogicalPlan files(StreamingRelation relation) {
    DataSource source = relation.dataSource();
    Map options = new HashMap(CollectionConverters.asJava(source.options()));
    if (!has(options, "maxFilesPerTrigger") && !has(options, "maxBytesPerTrigger")) {
      options.put("maxBytesPerTrigger", FILE_BYTES);
    }
    if (!has(options, "maxFileAge")) options.put("maxFileAge", JobContext.ANY_AGE);
    scala.collection.immutable.Map told =
        (scala.collection.immutable.Map) Map$.MODULE$.from(CollectionConverters.asScala(options));
    DataSource bounded = source.copy(source.sparkSession(), source.className(), source.paths(),
        source.userSpecifiedSchema(), source.partitionColumns(), source.bucketSpec(), told, source.catalogTable(),
        source.userSpecifiedStreamingSourceName());
    return relation.copy(bounded, relation.sourceName(), relation.output(), relation.sourceIdentifyingName());
  }

  private static boolean has(Map options, String name) {
    java.util.Iterator each = options.keySet().iterator();
    while (each.hasNext()) {
      if (((String) each.next()).toLowerCase(Locale.ROOT).equals(name.toLowerCase(Locale.ROOT))) return true;
    }
    return false;
  }
}
