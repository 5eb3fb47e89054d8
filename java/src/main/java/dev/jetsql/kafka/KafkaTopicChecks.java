package dev.jetsql.kafka;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JobContext;
import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.common.PythonResponses;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Check the topics of plain statements at their brokers before Spark reads or writes them.
 * Otherwise Spark and Kafka's clients would wait for minutes for an unreachable broker or a deleted
 * topic, and then name neither of them.
 *
 * <p>Jobs are exempt: their topics are checked when they are created, and they wait for their
 * brokers.
 */
public final class KafkaTopicChecks {
  private static volatile BiFunction<Object, String, Object> engine;

  private KafkaTopicChecks() {}

  /**
   * Set the function that checks a topic, or null. Its arguments are a session and the JSON object
   * {"table", "doing", "options"}, where "doing" is "read" or "write". It returns nothing or an
   * error.
   */
  public static void connect(BiFunction<Object, String, Object> check) {
    engine = check;
  }

  /** Check the topic of a table that a statement is about to read or write. */
  static void check(KafkaTable table, String doing) {
    if (!isOfJob(table)) check(table.name(), doing, table.options());
  }

  /** Check the topics that a plan streams from. */
  public static void checkStreams(LogicalPlan plan) {
    for (LogicalPlan leaf : CollectionConverters.asJava(plan.collectLeaves())) {
      if (!(leaf instanceof StreamingRelationV2 stream)) continue;
      Map<String, String> options = stream.extraOptions().asCaseSensitiveMap();
      if (options.containsKey(KafkaTable.TABLE))
        check(options.get(KafkaTable.TABLE), "read", options);
    }
  }

  private static void check(String table, String doing, Map<String, String> options) {
    BiFunction<Object, String, Object> check = engine;
    if (check == null) return;
    try {
      ObjectNode question = Json.MAPPER.createObjectNode();
      question.put("table", table);
      question.put("doing", doing);
      question.set("options", Json.MAPPER.valueToTree(options));
      PythonResponses.of(PythonCalls.ask(check, null, Json.MAPPER.writeValueAsString(question)));
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  private static boolean isOfJob(KafkaTable table) {
    return table.session().sessionState().conf().contains(JobContext.JOB_CONF);
  }

  /**
   * Return the relation that a batch query reads: the connector's, or one that checks the topic
   * first.
   */
  static BaseRelation checked(KafkaTable table, BaseRelation connectors) {
    return isOfJob(table) ? connectors : new CheckedRelation(table, connectors);
  }

  /** The connector's relation, which checks the topic before each scan. */
  private static final class CheckedRelation extends BaseRelation implements TableScan {
    private final KafkaTable table;
    private final BaseRelation connectors;

    CheckedRelation(KafkaTable table, BaseRelation connectors) {
      this.table = table;
      this.connectors = connectors;
    }

    @Override
    public RDD<Row> buildScan() {
      check(table, "read");
      return ((TableScan) connectors).buildScan();
    }

    @Override
    public SQLContext sqlContext() {
      return connectors.sqlContext();
    }

    @Override
    public StructType schema() {
      return connectors.schema();
    }

    @Override
    public boolean needConversion() {
      return connectors.needConversion();
    }

    @Override
    public long sizeInBytes() {
      return connectors.sizeInBytes();
    }

    @Override
    public String toString() {
      return connectors.toString();
    }
  }
}
