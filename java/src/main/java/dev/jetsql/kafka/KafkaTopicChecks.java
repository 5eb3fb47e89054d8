package dev.jetsql.kafka;

import dev.jetsql.common.ApprovedPlans;
import dev.jetsql.common.EngineCallback;
import dev.jetsql.common.JobContext;
import java.util.Map;
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
 * Checks the topics of statements at their brokers before Spark reads or writes them. Otherwise
 * Spark and Kafka's clients would wait several minutes for an unreachable broker or a deleted
 * topic, and their errors would name neither.
 *
 * <p>Jobs are exempt: the engine checks their topics when they are created, and they wait for their
 * brokers.
 */
public final class KafkaTopicChecks {
  private KafkaTopicChecks() {}

  /** Checks the topic of a table that a statement is about to read or write. */
  static void check(KafkaTable table, String operation) {
    if (!isOfJob(table)) check(table.name(), operation, table.options());
  }

  /** Checks the topics that a plan streams from. */
  public static void checkStreams(LogicalPlan plan) {
    for (LogicalPlan leaf : CollectionConverters.asJava(plan.collectLeaves())) {
      if (!(leaf instanceof StreamingRelationV2 stream)) continue;
      Map<String, String> options = stream.extraOptions().asCaseSensitiveMap();
      if (options.containsKey(KafkaTable.TABLE))
        check(options.get(KafkaTable.TABLE), "read", options);
    }
  }

  private static void check(String table, String operation, Map<String, String> options) {
    if (!EngineCallback.isConnected()) return;
    var request = Map.of("table", table, "operation", operation, "options", options);
    EngineCallback.CHECK_TOPIC.ask(null, request);
  }

  private static boolean isOfJob(KafkaTable table) {
    return table.session().sessionState().conf().contains(JobContext.JOB_CONF);
  }

  /**
   * Returns the relation that a batch query reads: for a job the connector's, otherwise one that
   * checks the topic first.
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

    /** Returns the rows of a read that was checked: the connector makes a plan of its own. */
    @Override
    public RDD<Row> buildScan() {
      check(table, "read");
      return ApprovedPlans.call(((TableScan) connectors)::buildScan);
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
