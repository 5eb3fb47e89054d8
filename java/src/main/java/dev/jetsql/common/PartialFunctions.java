package dev.jetsql.common;

import java.util.function.Function;
import java.util.function.Predicate;
import scala.Function1;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;

/** Scala's partial functions, made from Java's lambdas. */
public final class PartialFunctions {
  private PartialFunctions() {}

  /** Returns a function that is defined for the values that `defined` accepts. */
  public static <A, B> PartialFunction<A, B> of(Predicate<A> defined, Function<A, B> function) {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(A value) {
        return defined.test(value);
      }

      @Override
      @SuppressWarnings("unchecked") // Java has no lower bounds: Scala's B1 is a supertype of B
      public <A1 extends A, B1> B1 applyOrElse(A1 value, Function1<A1, B1> otherwise) {
        return defined.test(value) ? (B1) function.apply(value) : otherwise.apply(value);
      }
    };
  }

  /** Returns the identity function, defined for every value. */
  public static <A> PartialFunction<A, A> everything() {
    return of(value -> true, value -> value);
  }
}
