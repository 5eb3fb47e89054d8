package dev.jetsql.rewrites.bytime;

import java.io.Serializable;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of a join by time: the columns of the key, the time as a timestamp and in microseconds,
 * and a struct for the row of each stream. One of them is NULL; both are, for a row that cannot
 * match.
 *
 * @param keyCount the number of the key's columns
 * @param keys the key of the first stream, in words; empty for a join without a key
 * @param firstName the name of the first stream in FROM
 * @param secondName the name of the second stream in FROM
 * @param first the columns of the first stream
 * @param second the columns of the second stream
 * @param isStrict whether a row joins rows before its time only
 * @param isOuter whether rows without a match are returned
 */
record JoinRows(
    int keyCount,
    String keys,
    String firstName,
    String secondName,
    StructType first,
    StructType second,
    boolean isStrict,
    boolean isOuter)
    implements Serializable {

  int timeColumn() {
    return keyCount + 1;
  }

  int firstColumn() {
    return keyCount + 2;
  }

  int secondColumn() {
    return keyCount + 3;
  }
}
