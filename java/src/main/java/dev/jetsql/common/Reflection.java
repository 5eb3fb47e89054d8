package dev.jetsql.common;

import java.lang.invoke.MethodType;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Finds and calls members of classes that JetSQL is compiled without, such as Delta's and
 * Iceberg's, and finds private fields.
 */
public final class Reflection {
  private Reflection() {}

  /** Returns a private field, which can be read and set. type: the class that declares the field */
  public static Field field(Class<?> type, String name) throws NoSuchFieldException {
    var field = type.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  /**
   * Calls the public method with a name that takes exactly the arguments. The class itself need not
   * be public.
   */
  public static Object call(Object target, String name, Object... arguments) {
    var type = target.getClass();
    var named =
        Arrays.stream(type.getMethods())
            .filter(each -> each.getName().equals(name))
            .filter(each -> each.getParameterCount() == arguments.length)
            .toList();
    if (named.isEmpty()) throw new NoSuchMethodError(type.getName() + "." + name);
    var method = longest(named, arguments);
    try {
      method.setAccessible(true);
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw Exceptions.raise(e.getCause());
    } catch (IllegalAccessException e) {
      throw Exceptions.raise(e);
    }
  }

  /**
   * Returns the method or constructor that takes the most of the arguments. Java lists overloads in
   * an order that differs from process to process. Throws NoSuchMethodError if none takes them.
   */
  public static <E extends Executable> E longest(List<E> overloads, Object... arguments) {
    return overloads.stream()
        .filter(each -> takes(each.getParameterTypes(), arguments))
        .max(
            Comparator.<E>comparingInt(Executable::getParameterCount)
                .thenComparing(each -> !each.isSynthetic()))
        .orElseThrow(
            () -> new NoSuchMethodError(overloads.get(0) + " does not take the arguments"));
  }

  /** Returns whether the first arguments have the types of parameters. */
  private static boolean takes(Class<?>[] parameters, Object[] arguments) {
    if (parameters.length > arguments.length) return false;
    for (int i = 0; i < parameters.length; i++) {
      var type = MethodType.methodType(parameters[i]).wrap().returnType();
      var fits =
          arguments[i] == null ? !parameters[i].isPrimitive() : type.isInstance(arguments[i]);
      if (!fits) return false;
    }
    return true;
  }
}
