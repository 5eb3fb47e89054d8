import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

/** A client of JDBC that waits for a job and says how that ended. */
public class WaitingJdbc {
  public static void main(String[] arguments) throws Exception {
    DriverManager.registerDriver(new org.apache.hive.jdbc.HiveDriver());
    String token = System.getenv("JETSQL_TEST_TOKEN");
    Connection connection = DriverManager.getConnection(System.getenv("JETSQL_TEST_THRIFT"), "jetsql", token);
    System.out.println("waiting");
    try {
      connection.createStatement().execute("WAIT FOR JOB waits UNTIL BATCH 1000000");
      System.out.println("came to its end");
    } catch (SQLException e) {
      System.out.println("ended: " + e.getMessage());
    }
    System.exit(0);
  }
}
