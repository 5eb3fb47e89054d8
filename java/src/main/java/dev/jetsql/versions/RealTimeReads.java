package dev.jetsql.versions;

import static java.lang.invoke.MethodType.methodType;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

/** Reads of real-time mode. Spark 4.1 does not pass the time at which the wait has begun. */
public final class RealTimeReads {
  private static final boolean WITH_BEGIN = SparkVersion.isAtLeast(4, 2);
  private static final MethodHandle NEXT = next();

  private RealTimeReads() {}

  /** Waits for the next record of a reader. */
  public static SupportsRealTimeRead.RecordStatus next(
      SupportsRealTimeRead<?> reader, long begin, long millis) throws IOException {
    try {
      Object status =
          WITH_BEGIN
              ? NEXT.invoke(reader, (Long) begin, (Long) millis)
              : NEXT.invoke(reader, (Long) millis);
      return (SupportsRealTimeRead.RecordStatus) status;
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IOException(e);
    }
  }

  private static MethodHandle next() {
    var status = SupportsRealTimeRead.RecordStatus.class;
    var type =
        WITH_BEGIN ? methodType(status, Long.class, Long.class) : methodType(status, Long.class);
    try {
      return MethodHandles.publicLookup()
          .findVirtual(SupportsRealTimeRead.class, "nextWithTimeout", type);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
