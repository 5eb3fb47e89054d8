package dev.jetsql.endpoints;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import javax.security.sasl.AuthenticationException;
import org.junit.jupiter.api.Test;

class TokenLoginTest {
  private final TokenLogin login = new TokenLogin();

  @Test
  void admitsTheTokenUnderAnyName() {
    TokenLogin.expect("tök");
    assertDoesNotThrow(() -> login.Authenticate("anyone", "tök"));
    assertDoesNotThrow(() -> login.Authenticate(null, "tök"));
  }

  @Test
  void refusesEveryOtherPassword() {
    TokenLogin.expect("token");
    for (String password : new String[] {null, "", "toke", "token "}) {
      assertThrows(AuthenticationException.class, () -> login.Authenticate("anyone", password));
    }
  }

  @Test
  void sharesTheTokenWithTheInstancesOfHive() {
    TokenLogin.expect("shared");
    assertDoesNotThrow(() -> new TokenLogin().Authenticate("anyone", "shared"));
  }
}
