package dev.jetsql.endpoints;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class TokenFilterTest {
  private final TokenFilter filter = new TokenFilter();
  private final List<Object> outcome = new ArrayList<>();

  @BeforeEach
  void expect() {
    TokenFilter.expect("tok:en");
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  /** Returns ["admitted"], or the status of the refusal. */
  private List<Object> send(String authorization) throws Exception {
    var request = proxy(HttpServletRequest.class, (proxy, method, arguments) -> authorization);
    var response =
        proxy(
            HttpServletResponse.class,
            (proxy, method, arguments) -> {
              if (method.getName().equals("sendError")) outcome.add(arguments[0]);
              return null;
            });
    filter.doFilter(request, response, (admitted, unused) -> outcome.add("admitted"));
    return outcome;
  }

  private static String basic(String login) {
    return "basic " + Base64.getEncoder().encodeToString(login.getBytes(StandardCharsets.UTF_8));
  }

  @ParameterizedTest
  @ValueSource(strings = {"Bearer tok:en", "bearer   tok:en", " BEARER tok:en "})
  void admitsTheBearerToken(String authorization) throws Exception {
    assertEquals(List.of("admitted"), send(authorization));
  }

  @Test
  void admitsTheTokenAsThePasswordOfAnyUser() throws Exception {
    assertEquals(List.of("admitted"), send(basic("anyone:tok:en")));
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(
      strings = {
        "",
        " ",
        "Bearer",
        "Bearer other",
        "Digest tok:en",
        "tok:en",
        "Basic tok:en",
        "Basic !"
      })
  void refusesEverythingElse(String authorization) throws Exception {
    assertEquals(List.of(401), send(authorization));
  }

  @Test
  void refusesAnotherPassword() throws Exception {
    assertEquals(List.of(401), send(basic("tok:en:")));
  }
}
