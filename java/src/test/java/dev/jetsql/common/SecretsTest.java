package dev.jetsql.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SecretsTest {
  @ParameterizedTest
  @CsvSource({
    "ann, channel closed, channel closed",
    "ann, planner and Joanna, planner and Joanna",
    "ann, password authentication failed for ann, password authentication failed for ***",
    "ann, user=ann&password=x, user=***&password=x",
    "ann, 'ann'@'host', '***'@'host'",
    "ann, über_ann, über_ann",
    "tür1, Hintertür1 tür1, Hintertür1 ***",
    "#a1, password#a1!, password***!",
    "a1#, a1#more xa1#, ***more xa1#",
    "sevench, xsevenchx sevench, xsevenchx ***",
    "eightchr, xeightchrx, x***x",
  })
  void aShortSecretIsRedactedAsAWholeWordOnly(String secret, String message, String redacted) {
    Secrets.remember(secret);
    assertEquals(redacted, Secrets.redact(message));
  }

  @Test
  void aSecretOfOneOrTwoCharactersIsRedactedAsAWordToo() {
    Secrets.remember("vm");
    assertEquals("the value '***' is no jvm", Secrets.redact("the value 'vm' is no jvm"));
  }

  @Test
  void aShortLineOfASecretIsNotRedacted() {
    Secrets.remember("{\n\"key\": \"abcdefgh\"\n}");
    assertEquals("{*** }", Secrets.redact("{\"key\": \"abcdefgh\" }"));
  }

  @Test
  void linesAndPiecesOfASecretAreRedacted() {
    Secrets.remember("-----BEGIN KEY-----\nMIIEvQIBADANBgkqh\nkiG9w0BAQEF\n-----END KEY-----");
    assertEquals("bad key: ***", Secrets.redact("bad key: kiG9w0BAQEF"));
    assertEquals("bad key: \"***...\"", Secrets.redact("bad key: \"MIIEvQIBADANB...\""));
  }

  @Test
  void theSchemeOfAUrlIsNoSecret() {
    Secrets.remember("jdbc:postgresql://db.example.org:5432/payments");
    assertEquals(
        "org.postgresql:postgresql:42.7.7", Secrets.redact("org.postgresql:postgresql:42.7.7"));
    assertEquals("no *** there", Secrets.redact("no db.example.org:5432 there"));
  }

  @Test
  void aMessageMayBeMissing() {
    assertNull(Secrets.redact(null));
  }

  @Test
  void aFileIsReadWithoutItsLastLineBreak(@TempDir Path folder) throws IOException {
    var file = Files.writeString(folder.resolve("password"), "s3cret of a file\n");
    assertEquals("s3cret of a file", Secrets.reveal("secret:file:" + file));
    assertEquals("refused: ***", Secrets.redact("refused: s3cret of a file"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "secret:",
        "secret:env",
        "secret:env:",
        "secret:vault:x",
        "secret:file:/no/such/file"
      })
  void whatNamesNoSecretIsRefused(String reference) {
    var refused = assertThrows(JetSqlException.class, () -> Secrets.reveal(reference));
    assertEquals("JETSQL.SECRET_NOT_READABLE", refused.getCondition());
    assertEquals("42704", refused.getSqlState());
  }

  @Test
  void namesOfSecretOptionsAreThoseOfPython() {
    Secrets.setNames("(?i:password|token)");
    assertTrue(Secrets.isName("kafka.sasl.PASSWORD"));
    assertFalse(Secrets.isName("dbtable"));
  }
}
