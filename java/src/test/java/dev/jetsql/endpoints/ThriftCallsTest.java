package dev.jetsql.endpoints;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hive.service.rpc.thrift.TCLIService;
import org.junit.jupiter.api.Test;

class ThriftCallsTest {
  @Test
  void unlistedCallsAreThoseOfFilesAndDelegationTokens() {
    var unlisted =
        Arrays.stream(TCLIService.Iface.class.getMethods())
            .map(method -> method.getName())
            .filter(name -> !ThriftCalls.CALLS.containsKey(name))
            .collect(Collectors.toSet());
    assertEquals(
        Set.of(
            "GetDelegationToken",
            "CancelDelegationToken",
            "RenewDelegationToken",
            "UploadData",
            "DownloadData"),
        unlisted);
  }
}
