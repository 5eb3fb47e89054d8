package dev.jetsql.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of {@link Reflection}. */
class ReflectionTest {
  /** A class whose versions have more and more parameters. */
  public static final class Grown {
    public void run(String name, boolean large) {}

    public void run(String name, boolean strict, boolean large) {}

    public void run(String name, int size, boolean large) {}
  }

  private static Method longest(boolean reversed, Object... arguments) {
    var overloads = new ArrayList<Method>(List.of(Grown.class.getMethods()));
    overloads.removeIf(each -> !each.getName().equals("run"));
    if (reversed) Collections.reverse(overloads);
    return Reflection.longest(overloads, arguments);
  }

  @Test
  void theLongestOverloadIsCalledInAnyOrder() {
    for (var reversed : List.of(true, false)) {
      var found = longest(reversed, "t", true, false, "of a later version");
      assertEquals("[class java.lang.String, boolean, boolean]", types(found));
      assertEquals("[class java.lang.String, boolean]", types(longest(reversed, "t", true)));
    }
  }

  @Test
  void argumentsThatNoOverloadTakes() {
    assertThrows(NoSuchMethodError.class, () -> longest(false, "t", null, true));
    assertThrows(NoSuchMethodError.class, () -> longest(false, "t"));
  }

  private static String types(Method method) {
    return Arrays.toString(method.getParameterTypes());
  }
}
