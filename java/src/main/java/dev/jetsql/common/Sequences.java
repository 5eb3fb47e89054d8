package dev.jetsql.common;

import java.util.List;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Scala's sequences, made from Java's values. */
public final class Sequences {
  private Sequences() {}

  public static <T> Seq<T> of(List<T> values) {
    return CollectionConverters.asScala(values).toSeq();
  }

  @SafeVarargs
  @SuppressWarnings("varargs") // the array is only read
  public static <T> Seq<T> of(T... values) {
    return of(List.of(values));
  }
}
