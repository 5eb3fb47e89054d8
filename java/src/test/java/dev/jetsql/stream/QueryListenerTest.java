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
  private final Instant before = Instant.now().minusSeconds(60);
  private final Instant after = Instant.now().plusSeconds(60);

  private final List<String> events = new ArrayList<>();
  private final QueryListener listener =
      new QueryListener((kind, detail) -> events.add(kind + " " + detail), id -> {}, null);

  private void idle(Instant time) {
    listener.onQueryIdle(new QueryIdleEvent(ID, ID, time.toString()));
  }

  @Test
  void reportsAnIdleQueryOnce() {
    idle(before);
    idle(after);
    assertEquals(List.of("idle " + before), events);
  }

  @Test
  void reportsTheEnd() {
    listener.onQueryTerminated(new QueryTerminatedEvent(ID, ID, Option.empty(), Option.empty()));
    assertEquals(List.of("ended "), events);
  }
}
