package dev.jetsql.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** An object of JDBC that forwards the calls of its interface to the driver's object. */
abstract class ForwardedCalls implements InvocationHandler {
  private final Object driver;

  ForwardedCalls(Object driver) {
    this.driver = driver;
  }

  static <T> T proxy(Class<T> type, ForwardedCalls calls) {
    return type.cast(
        Proxy.newProxyInstance(
            ForwardedCalls.class.getClassLoader(), new Class<?>[] {type}, calls));
  }

  /** Answers a call, or forwards it. */
  abstract Object call(Method method, Object[] args) throws Throwable;

  Object forward(Method method, Object[] args) throws Throwable {
    try {
      return method.invoke(driver, args);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  @Override
  public final Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
    return call(method, args);
  }
}
