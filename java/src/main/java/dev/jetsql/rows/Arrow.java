package dev.jetsql.rows;

import java.io.ByteArrayOutputStream;
import java.nio.channels.Channels;
import java.util.HashMap;
import java.util.Map;
import org.apache.arrow.vector.ipc.WriteChannel;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.util.ArrowUtils;

/** Rows as Spark's own Arrow: the messages of an Arrow stream, which are only to be put one after the other. */
public class Arrow {

  /** The message that a stream begins with. columns: kept in the schema, under "jetsql.columns". */
  public static byte[] schema(Dataset rows, String columns) throws Exception {
    Schema plain = ArrowUtils.toArrowSchema(rows.schema(), zone(rows), true, false, false);
    Map told = new HashMap();
    told.put("jetsql.columns", columns);
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    MessageSerializer.serialize(new WriteChannel(Channels.newChannel(written)), new Schema(plain.getFields(), told));
    return written.toByteArray();
  }

  private static String zone(Dataset rows) { return rows.sparkSession().sessionState().conf().sessionLocalTimeZone(); }
}
