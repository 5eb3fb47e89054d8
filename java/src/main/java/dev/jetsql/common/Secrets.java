package dev.jetsql.common;

import com.fasterxml.jackson.databind.node.TextNode;
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
 * Options that name a secret instead of holding it: `secret:env:NAME`, `secret:file:PATH`.
 *
 * <p>The catalogue keeps what was written. The driver reads the secret when something connects, and
 * remembers it, so that it can be taken out of the messages of errors: drivers and clients quote
 * the values that they refuse.
 */
public final class Secrets {
  private static final String PREFIX = "secret:";
  private static final String REDACTED = "***";
  private static final int MAX_BYTES = 64 * 1024;
  private static final int MAX_REMEMBERED = 1000;
  private static final int MIN_REDACTED = 3; // hiding every "a" in a message would protect nothing
  private static final int MIN_REDACTED_INSIDE_WORDS =
      8; // a shorter one is part of ordinary words by chance
  private static final int MIN_PIECE = 12;
  // Of a URL, the scheme is no secret, and messages about other things name it:
  // "jdbc:postgresql://"
  private static final Pattern SCHEME = Pattern.compile("^[a-z][a-z0-9+.:-]*://");
  private static final String WORD_CHARACTER = "[\\p{L}\\p{N}_]";

  private static final Map<String, Boolean> remembered = new Remembered();
  private static volatile Pattern names;

  private Secrets() {}

  /** The values that were read, in the order of their last use. */
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

  /** Set what the names of secret options look like: Python's `SECRET_NAMES`. */
  public static void setNames(String pattern) {
    names = Pattern.compile(pattern);
  }

  /** Return whether an option of this name holds a secret. */
  public static boolean isName(String option) {
    return names.matcher(option).find();
  }

  /** Return whether a value names a secret, which is read when it is needed. */
  public static boolean isReference(String value) {
    return value.startsWith(PREFIX);
  }

  /**
   * Return the secret that a value names; every other value as it is. Throws SECRET_NOT_READABLE.
   */
  public static String reveal(String value) {
    if (value == null || !isReference(value)) return value;
    var parts = value.split(":", 3);
    if (parts.length == 3 && !parts[2].isEmpty()) {
      if (parts[1].equals("env")) return remember(fromEnvironment(parts[2]));
      if (parts[1].equals("file")) return remember(fromFile(parts[2]));
    }
    throw notReadable(
        "'" + value + "' names no secret. Write 'secret:env:NAME' or 'secret:file:PATH'.");
  }

  /** Return options, a JSON object, with the secrets that their values name. */
  public static String revealOptions(String options) {
    var revealed = Json.readObject(options);
    revealed
        .properties()
        .forEach(option -> option.setValue(TextNode.valueOf(reveal(option.getValue().asText()))));
    return Json.write(revealed);
  }

  private static String fromEnvironment(String name) {
    var found = System.getenv(name);
    if (found != null) return found;
    throw notReadable(
        "The environment of the engine has no variable " + name + ". Start the engine with it.");
  }

  private static String fromFile(String name) {
    byte[] read;
    try (var file = Files.newInputStream(Path.of(name))) {
      read = file.readNBytes(MAX_BYTES + 1);
    } catch (IOException | RuntimeException e) {
      var why = e.getClass().getSimpleName();
      throw notReadable(
          "The file " + name + ", which should hold a secret, can't be read: " + why + ".");
    }
    if (read.length > MAX_BYTES) {
      throw notReadable(
          "The file " + name + " holds no secret: it has more than " + MAX_BYTES / 1024 + " KiB.");
    }
    return new String(read, StandardCharsets.UTF_8).stripTrailing();
  }

  static String remember(String value) {
    synchronized (remembered) {
      remembered.put(value, true);
    }
    return value;
  }

  /**
   * Return a message without the secrets that were read: without a whole one, a line of one, or a
   * longer piece.
   */
  public static String redact(String message) {
    if (message == null) return null;
    var shown = message;
    for (var secret : rememberedValues()) shown = without(shown, secret);
    return shown;
  }

  private static List<String> rememberedValues() {
    synchronized (remembered) {
      return List.copyOf(remembered.keySet());
    }
  }

  private static String without(String message, String secret) {
    var shown = withoutText(message, secret);
    for (var line : secret.split("\\R", 0)) shown = withoutText(shown, line.trim());
    return withoutPieces(shown, secret);
  }

  private static String withoutText(String message, String text) {
    if (text.length() < MIN_REDACTED) return message;
    if (text.length() >= MIN_REDACTED_INSIDE_WORDS) return message.replace(text, REDACTED);
    return wholeWord(text).matcher(message).replaceAll(Matcher.quoteReplacement(REDACTED));
  }

  /** Return a pattern for a text that no word goes on from: `ann`, but not in `channel`. */
  private static Pattern wholeWord(String text) {
    var before = text.substring(0, 1).matches(WORD_CHARACTER) ? "(?<!" + WORD_CHARACTER + ")" : "";
    var after =
        text.substring(text.length() - 1).matches(WORD_CHARACTER)
            ? "(?!" + WORD_CHARACTER + ")"
            : "";
    return Pattern.compile(before + Pattern.quote(text) + after);
  }

  /** Servers cut what they quote, so a piece of a secret may be in a message. */
  private static String withoutPieces(String message, String value) {
    var secret = SCHEME.matcher(value).replaceFirst("");
    if (secret.length() < MIN_PIECE) return message;
    var shown = new StringBuilder();
    var at = 0;
    while (at < message.length()) {
      var stop = at + MIN_PIECE;
      if (stop > message.length() || !secret.contains(message.substring(at, stop))) {
        shown.append(message.charAt(at++));
        continue;
      }
      while (stop < message.length() && secret.contains(message.substring(at, stop + 1))) stop++;
      shown.append(REDACTED);
      at = stop;
    }
    return shown.toString();
  }

  /**
   * Return the error of an option that can't name a secret.
   *
   * @param place null where a statement has none
   */
  public static RuntimeException noSecret(Origin place, String option, String why) {
    var message = "The option '" + option + "' can't name a secret: " + why;
    return Exceptions.raise(
        place == null
            ? JetSqlException.of("INVALID_OPTION_VALUE", "22023", message)
            : JetSqlException.at(place, "INVALID_OPTION_VALUE", "22023", message));
  }

  private static RuntimeException notReadable(String message) {
    return Exceptions.raise(JetSqlException.of("SECRET_NOT_READABLE", "42704", message));
  }
}
