package dev.jetsql.versions;

import dev.jetsql.common.Exceptions;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import scala.Product;

/**
 * Copies case classes of Spark whose fields differ between its versions. Their method `copy` has a
 * parameter for each field, so that a call of it links with one version only.
 */
public final class CaseClasses {
  private CaseClasses() {}

  /**
   * Returns a copy of an object with other values in some fields.
   *
   * @param changes the new values by the names of the fields; a field that the running Spark does
   *     not have is an error
   */
  public static <T extends Product> T copy(T original, Map<String, ?> changes) {
    var unused = new HashMap<String, Object>(changes);
    var values = new Object[original.productArity()];
    for (int i = 0; i < values.length; i++) {
      String name = original.productElementName(i);
      values[i] = unused.containsKey(name) ? unused.remove(name) : original.productElement(i);
    }
    if (!unused.isEmpty()) {
      throw new IllegalArgumentException(original.getClass() + " has no " + unused.keySet());
    }
    try {
      @SuppressWarnings("unchecked")
      T copy = (T) method(original).invoke(original, values);
      return copy;
    } catch (InvocationTargetException e) {
      throw Exceptions.raise(e.getCause());
    } catch (IllegalAccessException e) {
      throw Exceptions.raise(e);
    }
  }

  private static Method method(Product original) {
    return Arrays.stream(original.getClass().getMethods())
        .filter(each -> each.getName().equals("copy"))
        .filter(each -> each.getParameterCount() == original.productArity())
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no case class: " + original.getClass()));
  }
}
