package dev.jetsql.rows;

import dev.jetsql.versions.SparkCalls;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.util.Map;
import org.apache.arrow.vector.ipc.WriteChannel;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.classic.Dataset;

/**
 * The schema message that an Arrow stream begins with. The batches after it are Spark's own
 * messages.
 */
public final class ArrowSchemas {
  private ArrowSchemas() {}

  /**
   * Returns the message with the schema of rows.
   *
   * @param columns the text to store in the schema's metadata under "jetsql.columns"
   */
  public static byte[] message(Dataset<?> rows, String columns) throws IOException {
    String zone = rows.sparkSession().sessionState().conf().sessionLocalTimeZone();
    Schema plain = SparkCalls.arrowSchema(rows.schema(), zone);
    var message = new ByteArrayOutputStream();
    MessageSerializer.serialize(
        new WriteChannel(Channels.newChannel(message)),
        new Schema(plain.getFields(), Map.of("jetsql.columns", columns)));
    return message.toByteArray();
  }
}
