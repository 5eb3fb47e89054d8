import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Hive's JDBC driver with TLS, as a user with rights on two tables.
 * Says a line a step: its name, a tab, "ok" or what went wrong.
 */
public class JdbcUsers {
  private static final String PASSWORD = "changeit";

  public static void main(String[] arguments) throws Exception {
    DriverManager.registerDriver(new org.apache.hive.jdbc.HiveDriver());
    String plain = System.getenv("JETSQL_TEST_THRIFT").replace(";ssl=true", "");
    String url = plain + ";ssl=true;sslTrustStore=" + trustStore() + ";trustStorePassword=" + PASSWORD;
    String token = System.getenv("JETSQL_TEST_READER");
    Connection connection = DriverManager.getConnection(url, "reader", token);
    Statement statement = connection.createStatement();
    say("connect", same("[reader]", column(statement.executeQuery("SELECT current_user()"), 1)));
    say("read", same("[Ada, Grace]", column(statement.executeQuery("SELECT customer FROM shop.orders ORDER BY id"), 1)));
    say("tables", same("[customers, orders]", sorted(connection.getMetaData().getTables(null, "shop", "%", null))));
    say("columns", same("[]", column(connection.getMetaData().getColumns(null, "shop", "payroll", "%"), 4)));
    say("hidden table", refusal(statement, "SELECT * FROM shop.payroll", "TABLE_OR_VIEW_NOT_FOUND"));
    say("hidden job", refusal(statement, "SUSPEND JOB copying", "JETSQL.JOB_NOT_FOUND"));
    connection.close();
    say("other user", refusedLogin(url, "operator", token));
    say("without TLS", refusedLogin(plain, "reader", token));
  }

  /** Writes a trust store with the certificate of the engine's authority, and returns its path. */
  private static Path trustStore() throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    try (FileInputStream file = new FileInputStream(System.getenv("JETSQL_CA_FILE"))) {
      store.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(file));
    }
    Path path = Files.createTempFile("trust", ".p12");
    try (FileOutputStream file = new FileOutputStream(path.toFile())) {
      store.store(file, PASSWORD.toCharArray());
    }
    return path;
  }

  private static String refusedLogin(String url, String user, String token) {
    try (Connection connection = DriverManager.getConnection(url, user, token)) {
      return "was admitted";
    } catch (SQLException e) {
      return "ok";
    }
  }

  private static String refusal(Statement statement, String text, String condition) {
    try {
      statement.executeQuery(text);
      return "no error";
    } catch (SQLException e) {
      return e.getMessage().contains(condition) ? "ok" : e.getMessage();
    }
  }

  private static String column(ResultSet rows, int column) throws SQLException {
    List<String> values = new ArrayList<>();
    while (rows.next()) values.add(rows.getString(column));
    rows.close();
    return values.toString();
  }

  private static String sorted(ResultSet tables) throws SQLException {
    TreeSet<String> names = new TreeSet<>();
    while (tables.next()) names.add(tables.getString(3));
    tables.close();
    return names.toString();
  }

  private static String same(String expected, String found) {
    return expected.equals(found) ? "ok" : "expected " + expected + ", not " + found;
  }

  private static void say(String step, String outcome) { System.out.println(step + "\t" + outcome); }
}
