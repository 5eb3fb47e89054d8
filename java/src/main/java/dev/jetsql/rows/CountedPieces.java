package dev.jetsql.rows;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.EOFException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.commons.lang3.exception.ExceptionUtils;
import org.apache.spark.rdd.RDD;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * The pieces of a stored partition, which are followed by their number. An error reports that the
 * last ones are missing.
 *
 * <p>On a full disk, Spark's block store can lose the end of a block without an error: Kryo, which
 * serializes the pieces, ignores the error of the last flush, and a block that is cut off is read
 * as if it ended there. {@code RDD.count()} counts the pieces that are read back, so its result
 * does not show the loss.
 */
final class CountedPieces extends AbstractIterator<Object> {
  private final Iterator<Object> stored;
  private final int partition;
  private byte[] ahead; // a piece, or the number of the pieces if nothing follows; null at the end
  private long read;

  private CountedPieces(Iterator<Object> stored, int partition) {
    this.stored = stored;
    this.partition = partition;
    if (!hasStored()) throw cutOff(null);
    this.ahead = (byte[]) stored.next();
  }

  /** Appends the number of the pieces to each partition. */
  static RDD<byte[]> append(RDD<byte[]> pieces) {
    return pieces.mapPartitions(new Append(), true, ClassTag$.MODULE$.apply(byte[].class));
  }

  /**
   * Returns the pieces of a stored partition. Reading them throws DISK_FULL if some are missing.
   */
  static Iterator<Object> read(Iterator<Object> stored, int partition) {
    return new CountedPieces(stored, partition);
  }

  @Override
  public boolean hasNext() {
    if (ahead == null) return false;
    if (hasStored()) return true;
    if (!Arrays.equals(ahead, encode(read))) throw cutOff(null);
    ahead = null;
    return false;
  }

  @Override
  public Object next() {
    byte[] piece = ahead;
    ahead = (byte[]) stored.next();
    read++;
    return piece;
  }

  private boolean hasStored() {
    try {
      return stored.hasNext();
    } catch (RuntimeException error) {
      if (ExceptionUtils.indexOfThrowable(error, EOFException.class) < 0) throw error;
      throw cutOff(error);
    }
  }

  private RuntimeException cutOff(Throwable cause) {
    var message = "Spark could not store all rows of the result (partition " + partition + ").";
    var error = JetSqlException.of("DISK_FULL", "53100", message);
    if (cause != null) error.addSuppressed(cause);
    return Exceptions.raise(error);
  }

  private static byte[] encode(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }

  private static final class Append extends AbstractFunction1<Iterator<byte[]>, Iterator<byte[]>>
      implements Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public Iterator<byte[]> apply(Iterator<byte[]> pieces) {
      return new WithNumber(pieces);
    }
  }

  private static final class WithNumber extends AbstractIterator<byte[]> {
    private final Iterator<byte[]> pieces;
    private long number;
    private boolean ended;

    private WithNumber(Iterator<byte[]> pieces) {
      this.pieces = pieces;
    }

    @Override
    public boolean hasNext() {
      return !ended;
    }

    @Override
    public byte[] next() {
      if (pieces.hasNext()) {
        number++;
        return pieces.next();
      }
      ended = true;
      return encode(number);
    }
  }
}
