package dev.jetsql.kafka;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.Json;
import dev.jetsql.common.PythonCalls;
import dev.jetsql.common.PythonResponses;
import dev.jetsql.sql.Plans;
import dev.jetsql.sql.Relations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.StructType;

/**
 * Topics that plain statements read and write: their brokers are asked first. Spark and Kafka's clients would wait for a
 * broker that is away, and for a topic that is gone, for minutes, and then know neither broker nor topic.
 *
 * Jobs have been asked when they were made, and wait for their brokers.
 */
public class KafkaAsked {
  private static volatile BiFunction engine;

  /** A function of (session, {"table", "doing": "read" or "write", "options"}) that answers nothing or an error. */
  public static void connect(BiFunction topic) { engine = topic; }

  static void ask(KafkaTable table, String doing) {
    if (!ofJob(table)) ask(table.name(), doing, table.options);
  }

  /** Those that a plan streams from. */
  public static void askStreams(LogicalPlan plan) {
    scala.collection.Iterator nodes = plan.collect(new Plans.Everything()).iterator();
    while (nodes.hasNext()) {
      Object node = nodes.next();
      if (!(node instanceof StreamingRelationV2)) continue;
      Map options = ((StreamingRelationV2) node).extraOptions().asCaseSensitiveMap();
      if (options.containsKey(KafkaTable.TABLE)) ask((String) options.get(KafkaTable.TABLE), "read", options);
    }
  }

  /** options: on top of the table's. */
  private static void ask(String table, String doing, Map options) {
    BiFunction asked = engine;
    if (asked == null) return;
    try {
      ObjectNode question = Json.MAPPER.createObjectNode();
      question.put("table", table);
      question.put("doing", doing);
      question.set("options", Json.MAPPER.valueToTree(options));
      PythonResponses.of(PythonCalls.ask(asked, null, Json.MAPPER.writeValueAsString(question)));
    } catch (Exception e) {
      throw Exceptions.raise(e);
    }
  }

  private static boolean ofJob(KafkaTable table) {
    return table.session.sessionState().conf().contains(Relations.JOB_CONF);
  }

  /** The connector's relation of a table that a query reads. */
  static BaseRelation relation(KafkaTable table, BaseRelation connectors) {
    return ofJob(table) ? connectors : new Asked(table, connectors);
  }

  static class Asked extends BaseRelation implements TableScan {
    private final KafkaTable table;
    private final BaseRelation real;

    Asked(KafkaTable table, BaseRelation real) {
      this.table = table;
      this.real = real;
    }

    public RDD buildScan() {
      ask(table, "read");
      return ((TableScan) real).buildScan();
    }

    public SQLContext sqlContext() { return real.sqlContext(); }
    public StructType schema() { return real.schema(); }
    public boolean needConversion() { return real.needConversion(); }
    public long sizeInBytes() { return real.sizeInBytes(); }
    public String toString() { return real.toString(); }
  }
}
