package dev.jetsql.plans;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import scala.Product;

/**
 * A node of JetSQL in Spark's plans. Spark reads, compares and copies nodes as Scala's products,
 * whose elements are the arguments of the constructor.
 */
interface NodeParts extends Product {
  /** Returns the arguments of the constructor in their order. */
  List<Object> nodeParts();

  @Override
  default int productArity() {
    return nodeParts().size();
  }

  @Override
  default Object productElement(int n) {
    return nodeParts().get(n);
  }

  @Override
  default boolean canEqual(Object other) {
    return other != null && other.getClass() == getClass();
  }

  /** Returns whether a node equals another object. */
  static boolean areEqual(NodeParts node, Object other) {
    return node == other
        || (node.canEqual(other) && node.nodeParts().equals(((NodeParts) other).nodeParts()));
  }

  /** Returns the arguments of a constructor: first the nodes below, then others. */
  static List<Object> of(List<?> children, Object... others) {
    var parts = new ArrayList<Object>(children);
    parts.addAll(Arrays.asList(others));
    return parts;
  }
}
