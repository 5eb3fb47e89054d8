package dev.jetsql.rights.gates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

final class AllowListTest {
  @Test
  void listsDecideByName() {
    assertNull(AllowList.FUNCTIONS.refusal("upper"));
    assertEquals("calls any method of Java", AllowList.FUNCTIONS.refusal("reflect"));
    assertEquals("unknown to JetSQL", AllowList.FUNCTIONS.refusal("surprise"));
    assertEquals("unknown to JetSQL", AllowList.PLANS.refusal(String.class));
  }
}
