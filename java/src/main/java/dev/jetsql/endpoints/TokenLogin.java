package dev.jetsql.endpoints;

import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

/**
 * Admits clients to the Thrift endpoint that have a token as their password, with the name of its
 * user. The engine (Python) checks both, as it does for its other endpoints.
 */
public final class TokenLogin implements PasswdAuthenticationProvider {
  @Override
  public void Authenticate(String user, String password) throws AuthenticationException {
    ThriftClient.current().logIn(user, password);
  }
}
