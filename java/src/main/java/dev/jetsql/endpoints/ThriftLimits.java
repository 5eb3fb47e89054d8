package dev.jetsql.endpoints;

import dev.jetsql.rights.Rights;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.operation.Operation;
import org.apache.hive.service.rpc.thrift.TColumn;
import org.apache.hive.service.rpc.thrift.TExecuteStatementReq;
import org.apache.hive.service.rpc.thrift.TRowSet;

/**
 * The limits of each user without ADMIN at the Thrift endpoint: the statements that run at a time,
 * the time of each, and the rows that each returns. The engine (Python) limits its other endpoints,
 * and publishes the limits of each user with the rights.
 */
final class ThriftLimits {
  private final Map<String, List<Operation>> operations = new HashMap<>(); // by user
  private final Map<String, Integer> beginning =
      new HashMap<>(); // calls that have no operation yet
  private final Map<Operation, Long> rows = new WeakHashMap<>(); // that were fetched

  /** Notes that a user begins a statement, and limits its time. Throws the error of the limit. */
  synchronized void begin(String user, Rights.Limits limits, TExecuteStatementReq statement)
      throws HiveSQLException {
    var own = operations.computeIfAbsent(user, added -> new ArrayList<>());
    own.removeIf(operation -> operation.getStatus().getState().isTerminal());
    int running = own.size() + beginning.getOrDefault(user, 0);
    var most = limits.statements();
    if (most > 0 && running >= most)
      throw exceeded(
          "The user runs %d statements, and may run %d at a time.".formatted(running, most));
    long given = statement.getQueryTimeout();
    long seconds = (long) Math.ceil(limits.seconds());
    if (seconds > 0 && (given <= 0 || given > seconds)) statement.setQueryTimeout(seconds);
    beginning.merge(user, 1, Integer::sum);
  }

  /**
   * Notes that the call of a statement has returned.
   *
   * @param operation that of the statement; null if it has failed
   */
  synchronized void began(String user, Operation operation) {
    beginning.merge(user, -1, (before, change) -> before + change == 0 ? null : before + change);
    if (operation != null) operations.get(user).add(operation);
  }

  /** Counts the rows that a client fetches. Throws the error of the limit. */
  synchronized void fetched(Operation operation, long most, TRowSet fetched)
      throws HiveSQLException {
    if (most <= 0 || fetched == null) return;
    long count = rows.merge(operation, size(fetched), Long::sum);
    if (count > most)
      throw exceeded("The result has more than %d rows, which is the limit.".formatted(most));
  }

  private static long size(TRowSet fetched) {
    if (fetched.getColumns() == null || fetched.getColumns().isEmpty())
      return fetched.getRowsSize();
    TColumn column = fetched.getColumns().get(0);
    return ThriftCalls.part(column.getFieldValue(), "getValues") instanceof List<?> values
        ? values.size()
        : 0;
  }

  private static HiveSQLException exceeded(String message) {
    return new HiveSQLException("[JETSQL.LIMIT_EXCEEDED] " + message, "53400");
  }
}
