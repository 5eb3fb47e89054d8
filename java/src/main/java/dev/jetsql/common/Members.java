package dev.jetsql.common;

import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/** Calls of classes that JetSQL is compiled without, such as those of Delta and Iceberg. */
public final class Members {
  private Members() {}

  /**
   * Calls a public method by its name and its number of parameters. The class itself need not be
   * public.
   */
  public static Object call(Object target, String name, Object... arguments) {
    var type = target.getClass();
    var method =
        Arrays.stream(type.getMethods())
            .filter(each -> each.getName().equals(name))
            .filter(each -> each.getParameterCount() == arguments.length)
            .findFirst()
            .orElseThrow(() -> new NoSuchMethodError(type.getName() + "." + name));
    try {
      method.setAccessible(true);
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw Exceptions.raise(e.getCause());
    } catch (IllegalAccessException e) {
      throw Exceptions.raise(e);
    }
  }
}
