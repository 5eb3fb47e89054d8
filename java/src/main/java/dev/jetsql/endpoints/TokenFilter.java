package dev.jetsql.endpoints;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.Locale;

/**
 * Admits requests to Spark's web UI that have the token as their password (with any user name) or
 * as a bearer token.
 */
public final class TokenFilter implements Filter {
  private static volatile byte[] token;

  /** Sets the token that requests need. Until the first call, every request is refused. */
  public static void expect(String expected) {
    token = expected.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    byte[] expected = token;
    byte[] presented = credentials(((HttpServletRequest) request).getHeader("Authorization"));
    if (expected != null && MessageDigest.isEqual(expected, presented)) {
      chain.doFilter(request, response);
      return;
    }
    var refusal = (HttpServletResponse) response;
    refusal.setHeader(
        "WWW-Authenticate",
        "Basic realm=\"Spark UI of JetSQL: the password is the engine's token\"");
    refusal.sendError(
        HttpServletResponse.SC_UNAUTHORIZED, "The password must be the engine's token.");
  }

  private static byte[] credentials(String header) {
    String[] parts = header == null ? new String[0] : header.trim().split("\\s+", 2);
    if (parts.length != 2) return new byte[0];
    return switch (parts[0].toLowerCase(Locale.ROOT)) {
      case "bearer" -> parts[1].getBytes(StandardCharsets.UTF_8);
      case "basic" -> password(parts[1]);
      default -> new byte[0];
    };
  }

  private static byte[] password(String encoded) {
    try {
      var login = new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
      return login.substring(login.indexOf(':') + 1).getBytes(StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return new byte[0];
    }
  }
}
