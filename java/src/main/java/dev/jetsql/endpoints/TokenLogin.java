package dev.jetsql.endpoints;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

/** Who may use the Thrift door: whoever gives the token as the password, under any name. */
public class TokenLogin implements PasswdAuthenticationProvider {
  private static volatile byte[] token;

  /** The token that holds from now on; until then nobody may. */
  public void expect(String expected) { token = expected.getBytes(StandardCharsets.UTF_8); }

  public void Authenticate(String user, String password) throws AuthenticationException {
    byte[] known = token;
    byte[] given = password == null ? new byte[0] : password.getBytes(StandardCharsets.UTF_8);
    if (known == null || !MessageDigest.isEqual(known, given)) {
      throw new AuthenticationException("The password has to be the engine's token.");
    }
  }
}
