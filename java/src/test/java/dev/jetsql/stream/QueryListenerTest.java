package dev.jetsql.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryIdleEvent;
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent;
import org.junit.jupiter.api.Test;
import scala.Option;

class QueryListenerTest {
  private static final UUID ID = UUID.randomUUID();
  private static final Instant BEFORE = Instant.now().minusSeconds(60);
  private static final Instant AFTER = Instant.now().plusSeconds(60);

  private final List<String> events = new ArrayList<>();
  private final QueryListener listener =
      new QueryListener((kind, detail) -> events.add(kind + " " + detail));

  private void idle(Instant time) {
    listener.onQueryIdle(new QueryIdleEvent(ID, ID, time.toString()));
  }

  @Test
  void reportsAnIdleQueryOnce() {
    idle(BEFORE);
    idle(AFTER);
    assertEquals(List.of("idle " + BEFORE), events);
  }

  @Test
  void reportsIdleTriggersUpToTheFirstAfterTheCall() {
    idle(BEFORE);
    listener.watchIdle();
    idle(BEFORE.plusSeconds(1));
    idle(AFTER);
    idle(AFTER.plusSeconds(1));
    assertEquals(
        List.of("idle " + BEFORE, "idle " + BEFORE.plusSeconds(1), "idle " + AFTER), events);
  }

  @Test
  void reportsTheEnd() {
    listener.onQueryTerminated(new QueryTerminatedEvent(ID, ID, Option.empty(), Option.empty()));
    assertEquals(List.of("ended "), events);
  }
}
