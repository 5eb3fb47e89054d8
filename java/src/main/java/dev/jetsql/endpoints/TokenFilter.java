package dev.jetsql.endpoints;

import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.FilterConfig;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;

/** Lets a request through to Spark's web UI that has the token as its password (any user name), or as a bearer token. */
public class TokenFilter implements Filter {
  private static volatile byte[] token;

  /** Set the token that requests need from now on; before that none is let through. */
  public void expect(String expected) { token = expected.getBytes(StandardCharsets.UTF_8); }

  public void init(FilterConfig config) {}

  public void destroy() {}

  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    byte[] known = token;
    if (known != null && MessageDigest.isEqual(known, given(((HttpServletRequest) request).getHeader("Authorization")))) {
      chain.doFilter(request, response);
      return;
    }
    HttpServletResponse refusal = (HttpServletResponse) response;
    refusal.setHeader("WWW-Authenticate", "Basic realm=\"Spark UI of JetSQL: the password is the engine's token\"");
    refusal.sendError(HttpServletResponse.SC_UNAUTHORIZED, "The password has to be the engine's token.");
  }

  private static byte[] given(String header) {
    if (header == null) return new byte[0];
    String[] parts = header.trim().split("\\s+", 2);
    if (parts.length == 2 && parts[0].equalsIgnoreCase("Bearer")) return parts[1].getBytes(StandardCharsets.UTF_8);
    if (parts.length == 2 && parts[0].equalsIgnoreCase("Basic")) return password(parts[1]);
    return new byte[0];
  }

  private static byte[] password(String encoded) {
    try {
      String login = new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
      return login.substring(login.indexOf(':') + 1).getBytes(StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return new byte[0];
    }
  }
}
