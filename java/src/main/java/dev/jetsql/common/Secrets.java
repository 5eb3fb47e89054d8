package dev.jetsql.common;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.trees.Origin;

/**
 * Options whose value is a reference to a secret: `secret:env:NAME`, `secret:file:PATH`.
 * `NamedSecrets` has those of CREATE SECRET.
 *
 * <p>The catalog stores the reference. Spark's driver reads the secret for a connection and
 * remembers it, to redact it in error messages: JDBC drivers and Kafka's clients quote the values
 * that they refuse.
 */
public final class Secrets {
  private static final String PREFIX = "secret:";
  private static final String REDACTED = "***";
  private static final int MAX_BYTES = 64 * 1024;
  private static final int MAX_REMEMBERED = 1000;
  // A line of a secret file may be a bracket.
  private static final int MIN_LINE = 3;
  // Ordinary words contain shorter ones by chance.
  private static final int MIN_REDACTED_INSIDE_WORDS = 8;
  private static final int MIN_PIECE = 12;
  // The scheme of a URL is not secret, and unrelated messages contain it: "jdbc:postgresql://".
  private static final Pattern SCHEME = Pattern.compile("^[a-z][a-z0-9+.:-]*://");
  private static final String WORD_CHARACTER = "[\\p{L}\\p{N}_]";

  private static final Map<String, Boolean> remembered = new Remembered();
  private static volatile Pattern names;
  private static volatile boolean areRead = true;

  private Secrets() {}

  /** The secrets that were read, in the order of their last use. */
  private static final class Remembered extends LinkedHashMap<String, Boolean> {
    private static final long serialVersionUID = 1L;

    Remembered() {
      super(16, 0.75f, true);
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
      return size() > MAX_REMEMBERED;
    }
  }

  /** Sets the pattern of the names of secret options: Python's `SECRET_NAMES`. */
  public static void setNames(String pattern) {
    names = Pattern.compile(pattern);
  }

  /** Leaves references in place of the secrets, in a process that connects to no system. */
  public static void keepReferences() {
    areRead = false;
  }

  /** Returns whether references are replaced: false in a process that connects to no system. */
  public static boolean areRead() {
    return areRead;
  }

  /** Returns whether an option with this name contains a secret. */
  public static boolean isName(String option) {
    return names.matcher(option).find();
  }

  /** Returns whether a value is a reference to a secret. */
  public static boolean isReference(String value) {
    return value.startsWith(PREFIX);
  }

  /**
   * Returns the secret that a reference names, or any other value unchanged. Throws
   * SECRET_NOT_READABLE.
   */
  public static String reveal(String value) {
    if (value == null || !isReference(value) || !areRead) return value;
    var parts = value.split(":", 3);
    if (parts.length == 3 && !parts[2].isEmpty()) {
      if (parts[1].equals("env")) return remember(fromEnvironment(parts[2]));
      if (parts[1].equals("file")) return remember(fromFile(parts[2]));
    }
    throw notReadable(
        "'"
            + value
            + "' is not a reference to a secret. Write 'secret:NAME', 'secret:env:NAME' or"
            + " 'secret:file:PATH'.");
  }

  private static String fromEnvironment(String name) {
    var value = System.getenv(name);
    if (value != null) return value;
    throw notReadable(
        "The environment variable "
            + name
            + " of the engine is not set. Set it and restart the engine.");
  }

  private static String fromFile(String name) {
    byte[] content;
    try (var file = Files.newInputStream(Path.of(name))) {
      content = file.readNBytes(MAX_BYTES + 1);
    } catch (IOException | RuntimeException e) {
      var reason = e.getClass().getSimpleName();
      throw notReadable("Cannot read the secret in the file " + name + ": " + reason + ".");
    }
    if (content.length > MAX_BYTES) {
      throw notReadable(
          "Cannot read the secret in the file "
              + name
              + ": it is larger than "
              + MAX_BYTES / 1024
              + " KiB.");
    }
    return new String(content, StandardCharsets.UTF_8).stripTrailing();
  }

  static String remember(String value) {
    synchronized (remembered) {
      remembered.put(value, true);
    }
    return value;
  }

  /** Returns a message without the secrets that were read, their lines, and their longer pieces. */
  public static String redact(String message) {
    if (message == null) return null;
    var redacted = message;
    for (var secret : rememberedValues()) redacted = redactSecret(redacted, secret);
    return redacted;
  }

  private static List<String> rememberedValues() {
    synchronized (remembered) {
      return List.copyOf(remembered.keySet());
    }
  }

  private static String redactSecret(String message, String secret) {
    var redacted = secret.isBlank() ? message : redactText(message, secret);
    for (var line : secret.split("\\R", 0)) {
      var text = line.trim();
      if (text.length() >= MIN_LINE) redacted = redactText(redacted, text);
    }
    return redactPieces(redacted, secret);
  }

  private static String redactText(String message, String text) {
    if (text.length() >= MIN_REDACTED_INSIDE_WORDS) return message.replace(text, REDACTED);
    return wholeWord(text).matcher(message).replaceAll(Matcher.quoteReplacement(REDACTED));
  }

  /** Returns a pattern that finds a text as whole words only: `ann`, but not within `channel`. */
  private static Pattern wholeWord(String text) {
    var before = text.substring(0, 1).matches(WORD_CHARACTER) ? "(?<!" + WORD_CHARACTER + ")" : "";
    var after =
        text.substring(text.length() - 1).matches(WORD_CHARACTER)
            ? "(?!" + WORD_CHARACTER + ")"
            : "";
    return Pattern.compile(before + Pattern.quote(text) + after);
  }

  /** Redacts pieces of a secret: servers truncate the values that they quote. */
  private static String redactPieces(String message, String value) {
    var secret = SCHEME.matcher(value).replaceFirst("");
    if (secret.length() < MIN_PIECE) return message;
    var redacted = new StringBuilder();
    var at = 0;
    while (at < message.length()) {
      var stop = at + MIN_PIECE;
      if (stop > message.length() || !secret.contains(message.substring(at, stop))) {
        redacted.append(message.charAt(at++));
        continue;
      }
      while (stop < message.length() && secret.contains(message.substring(at, stop + 1))) stop++;
      redacted.append(REDACTED);
      at = stop;
    }
    return redacted.toString();
  }

  /**
   * Throws the error of an option whose value cannot be a reference to a secret.
   *
   * @param origin null when the option has no position in a statement
   */
  public static RuntimeException noSecret(Origin origin, String option, String reason) {
    var message = "The option '" + option + "' cannot name a secret: " + reason;
    return Exceptions.raise(
        origin == null
            ? JetSqlException.of("INVALID_OPTION_VALUE", "22023", message)
            : JetSqlException.at(origin, "INVALID_OPTION_VALUE", "22023", message));
  }

  private static RuntimeException notReadable(String message) {
    return Exceptions.raise(JetSqlException.of("SECRET_NOT_READABLE", "42704", message));
  }
}
