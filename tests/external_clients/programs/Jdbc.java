import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Hive's JDBC driver, from PySpark's own jars: `java -cp ... Jdbc.java`.
 * Says a line a step: its name, a tab, "ok" or what went wrong.
 */
public class Jdbc {
  private static final String SCHEMA = System.getenv("JETSQL_TEST_SCHEMA");
  private static final String JOB = "job_" + SCHEMA;
  private static final String[] FORMATS = System.getenv("JETSQL_TEST_FORMATS").split(" ");

  public static void main(String[] arguments) throws Exception {
    Connection connection = connect(System.getenv("JETSQL_TEST_TOKEN"));
    Statement statement = connection.createStatement();
    say("connect", same("1", cell(statement, "SELECT 1", 1)));
    statement.execute("CREATE SCHEMA " + SCHEMA);
    statement.execute("USE " + SCHEMA);
    statement.execute("CREATE TABLE orders (id INT, amount DECIMAL(10,2), at TIMESTAMP) USING " + FORMATS[0]);
    statement.execute("CREATE TABLE big (id INT, amount DECIMAL(10,2), at TIMESTAMP) USING " + FORMATS[1]);
    statement.execute("INSERT INTO orders VALUES (1, 20.00, now()), (2, 350.50, now())");
    say("table", "ok");
    say("create", same("RUNNING", cell(statement, "CREATE JOB " + JOB + " OPTIONS ('snapshotIntervalMillis' = '500') AS "
        + "INSERT INTO big SELECT * FROM STREAM orders WHERE amount > 100", 3)));
    list(statement);
    say("relation", same("RUNNING", cell(statement, "SELECT status FROM jetsql.jobs WHERE name = '" + JOB + "'", 1)));
    statement.execute("INSERT INTO orders VALUES (3, 990.00, now())");
    cell(statement, "WAIT FOR JOB " + JOB + " UNTIL IDLE", 1);
    say("deliver", same("2", cell(statement, "SELECT count(*) FROM big", 1)));
    say("look", same("3", cell(statement, "SELECT count(*) FROM STREAM orders LIMIT 1", 1)));
    String suspended = cell(statement, "SUSPEND JOB " + JOB, 3);
    say("suspend_resume", same("SUSPENDED RUNNING", suspended + " " + cell(statement, "ALTER JOB " + JOB + " RESUME", 3)));
    try {
      statement.executeQuery("SUSPEND JOB nobody_knows");
      say("error", "no error");
    } catch (SQLException e) {
      say("error", e.getMessage().contains("[JETSQL.JOB_NOT_FOUND]") ? same("42704", e.getSQLState()) : e.toString());
    }
    isolation(statement);
    cancel(connection);
    cell(statement, "DROP JOB " + JOB, 1);
    statement.execute("USE default");
    statement.execute("DROP SCHEMA " + SCHEMA + " CASCADE");
    say("drop", "ok");
    connection.close();
    try {
      connect("wrong");
      say("wrong token", "came in");
    } catch (SQLException e) {
      say("wrong token", "ok");
    }
  }

  private static Connection connect(String token) throws SQLException {
    DriverManager.registerDriver(new org.apache.hive.jdbc.HiveDriver());
    return DriverManager.getConnection(System.getenv("JETSQL_TEST_THRIFT"), "jetsql", token);
  }

  private static void list(Statement statement) throws SQLException {
    ResultSet rows = statement.executeQuery("SHOW JOBS LIKE '" + JOB + "'");
    String shape = rows.getMetaData().getColumnName(4) + " " + rows.getMetaData().getColumnTypeName(4);
    say("list", !rows.next() ? "no row" : rows.getTimestamp(4) == null ? "no time" : same("submission_time timestamp", shape));
    rows.close();
  }

  /** A second connection has a schema and settings of its own. */
  private static void isolation(Statement first) throws SQLException {
    first.execute("SET spark.sql.session.timeZone = Asia/Tokyo");
    Connection second = connect(System.getenv("JETSQL_TEST_TOKEN"));
    String there = cell(second.createStatement(), "SELECT concat(current_schema(), ' ', current_timezone())", 1);
    second.close();
    say("isolation", there.startsWith("default ") && !there.endsWith("Asia/Tokyo") ? "ok" : there);
  }

  /** A statement that waits is cancelled, and another connection works meanwhile. */
  private static void cancel(Connection connection) throws Exception {
    final Statement waiting = connection.createStatement();
    final String[] told = new String[1];
    Thread thread = new Thread(new Runnable() {
      public void run() {
        try {
          waiting.execute("WAIT FOR JOB " + JOB + " UNTIL BATCH 1000000");
          told[0] = "came to its end";
        } catch (SQLException e) {
          told[0] = "ok";
        }
      }
    });
    thread.start();
    Connection second = connect(System.getenv("JETSQL_TEST_TOKEN"));
    Statement other = second.createStatement();
    for (int i = 0; i < 5; i++) cell(other, "SHOW JOBS", 1);
    second.close();
    waiting.cancel();
    thread.join(20000);
    say("cancel", told[0] == null ? "was not cancelled" : told[0]);
  }

  private static String cell(Statement statement, String text, int column) throws SQLException {
    ResultSet rows = statement.executeQuery(text);
    String value = rows.next() ? rows.getString(column) : "no row";
    rows.close();
    return value;
  }

  private static String same(String expected, String found) {
    return expected.equals(found) ? "ok" : "expected " + expected + ", not " + found;
  }

  private static void say(String step, String outcome) { System.out.println(step + "\t" + outcome); }
}
