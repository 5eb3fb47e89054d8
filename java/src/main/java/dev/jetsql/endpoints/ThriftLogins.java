package dev.jetsql.endpoints;

import java.lang.reflect.Method;
import java.security.Security;
import java.util.List;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.CompositeService;
import org.apache.hive.service.Service;
import org.apache.hive.service.auth.PlainSaslServer;
import org.apache.hive.service.cli.CLIService;

/**
 * Logs clients in to the Thrift endpoint, with limits on connections that have not logged in: each
 * is closed after a deadline that no byte extends, and the oldest is closed when there are too
 * many. Without the limits, a connection would occupy one of the server's threads for ever: Spark's
 * service has no timeout for the login, and libthrift ignores Hive's.
 */
public final class ThriftLogins {
  private ThriftLogins() {}

  /** Prepares the check of logins, and returns the name of its class. */
  public static String check() {
    preferHive();
    return TokenLogin.class.getName();
  }

  /**
   * Makes Hive's check of logins by the mechanism PLAIN the first one of this Java process. Kafka's
   * clients bring another one, which knows no token: it would refuse every login if a table had
   * loaded them first.
   */
  private static void preferHive() {
    var hive = new PlainSaslServer.SaslPlainProvider();
    Security.removeProvider(hive.getName());
    Security.insertProviderAt(hive, 1);
  }

  /**
   * Limits the logins of a server that has been initialized but not started.
   *
   * @param max the number of connections that may be open without a login
   * @param millis the time for a login, in milliseconds
   * @param certificate of connections with TLS; null for connections without it
   */
  public static void limit(
      CompositeService server, HiveConf conf, int max, long millis, TlsCertificate certificate)
      throws Exception {
    List<Service> services = List.copyOf(server.getServices());
    var limited =
        new LimitedThriftService(
            (CLIService) services.get(0),
            new PendingLogins<>("thrift-logins", max, millis),
            certificate);
    limited.init(conf);
    change(server, "removeService", services.get(1));
    change(server, "addService", limited);
  }

  /** Calls a protected method: Spark makes the services of its server itself. */
  private static void change(CompositeService server, String method, Service service)
      throws Exception {
    Method change = CompositeService.class.getDeclaredMethod(method, Service.class);
    change.setAccessible(true);
    change.invoke(server, service);
  }
}
