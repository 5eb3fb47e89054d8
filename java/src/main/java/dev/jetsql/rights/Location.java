package dev.jetsql.rights;

import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;

/**
 * A folder of files, by the parts of its URL. URLs that mean the same folder are equal: the case of
 * the scheme and the host, and slashes at the end, do not count.
 *
 * @param authority the host or the bucket; empty for none
 * @param folders the names from the root on
 */
public record Location(String scheme, String authority, List<String> folders) {
  private static final List<String> SCHEMES = List.of("file", "s3a", "hdfs", "abfs", "abfss", "gs");
  private static final Pattern URL =
      Pattern.compile("(?:(?<scheme>[\\w+.-]+):)?(?://(?<authority>[^/]*))?(?<path>/.*)?");

  /** The characters that Spark, Hadoop or a store may read in another way: globs and escapes. */
  private static final Pattern SPECIAL = Pattern.compile("[*?\\[\\]{}\\\\%#\\p{Cntrl}]");

  /** Returns the location of a URI of the catalog, or of a path of Hadoop. */
  public static Location of(URI uri) {
    var path = Objects.requireNonNullElse(uri.getPath(), "");
    var names = Arrays.stream(path.split("/", -1)).filter(name -> !name.isEmpty()).toList();
    return new Location(lower(uri.getScheme()), lower(uri.getAuthority()), names);
  }

  /** Returns the location of a URL or a path that has no problem. */
  public static Location of(String url) {
    return of(uri(url));
  }

  /** Returns the URI that Spark makes of a LOCATION. */
  public static URI uri(String url) {
    return new Path(url).toUri();
  }

  private static String lower(String text) {
    return text == null ? "" : text.toLowerCase(Locale.ROOT);
  }

  /** Returns whether another location is this one or below it. */
  public boolean covers(Location other) {
    return scheme.equals(other.scheme)
        && authority.equals(other.authority)
        && other.folders.size() >= folders.size()
        && other.folders.subList(0, folders.size()).equals(folders);
  }

  /** Returns whether it is a folder of the machine of the engine. */
  public boolean isLocal() {
    return scheme.equals("file");
  }

  /** Returns its path. */
  public String path() {
    return "/" + String.join("/", folders);
  }

  /**
   * Returns why it is not certain which folder a text means, or null. The text is that of LOCATION,
   * which can be a path without a scheme.
   */
  public static String problem(String text) {
    if (SPECIAL.matcher(text).find())
      return "it contains a character that Spark or a file system may read in another way (one of"
          + " * ? [ ] { } \\ % # or a control character)";
    var url = URL.matcher(text);
    if (!url.matches() || (url.group("path") == null && url.group("authority") == null))
      return "it is neither a URL nor an absolute path";
    return url.group("scheme") == null && url.group("authority") == null
        ? pathProblem(url.group("path"))
        : urlProblem(url);
  }

  private static String urlProblem(Matcher url) {
    var scheme = Objects.requireNonNullElse(url.group("scheme"), "");
    var authority = Objects.requireNonNullElse(url.group("authority"), "");
    if (!SCHEMES.contains(scheme))
      return "its scheme must be one of " + String.join(", ", SCHEMES) + ", in lower case";
    if (scheme.equals("file") != authority.isEmpty())
      return scheme.equals("file") ? "it names a host" : "it names no host or bucket";
    if (authority.contains("@") && !scheme.startsWith("abfs")) return "it names a user";
    return url.group("path") == null ? null : pathProblem(url.group("path"));
  }

  private static String pathProblem(String path) {
    var names = List.of(path.substring(1).split("/", -1));
    var inner = names.get(names.size() - 1).isEmpty() ? names.subList(0, names.size() - 1) : names;
    return inner.stream().anyMatch(name -> name.isEmpty() || name.equals(".") || name.equals(".."))
        ? "it contains an empty name, '.' or '..'"
        : null;
  }

  @Override
  public String toString() {
    return scheme + "://" + authority + path();
  }
}
