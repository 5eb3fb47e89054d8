package dev.jetsql.endpoints;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

/**
 * Admits clients to the Thrift endpoint that have the token as their password, with any user name.
 */
public final class TokenLogin implements PasswdAuthenticationProvider {
  private static volatile byte[] token;

  /** Sets the token that clients need. Until the first call, every login is refused. */
  public static void expect(String expected) {
    token = expected.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public void Authenticate(String user, String password) throws AuthenticationException {
    byte[] expected = token;
    byte[] presented = password == null ? new byte[0] : password.getBytes(StandardCharsets.UTF_8);
    if (expected == null || !MessageDigest.isEqual(expected, presented)) {
      throw new AuthenticationException("The password must be the engine's token.");
    }
  }
}
