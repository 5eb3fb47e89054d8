"""The limit of open files, from which the limit of connections follows."""

import resource

import pytest

from jetsql.server.login_limits import raise_file_limit

INFINITY = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("limits", "raised", "connections"),
    [
        ((1024, 1_000_000), (8192, 1_000_000), 4096),
        ((1024, INFINITY), (8192, INFINITY), 4096),
        ((1024, 4096), (4096, 4096), 2048),
        ((8191, 8192), (8192, 8192), 4096),
        ((8192, INFINITY), None, 4096),
        ((9000, 9000), None, 4096),
        ((500, 500), None, 250),
        ((INFINITY, INFINITY), None, 4096),
    ],
)
def test_half_of_the_open_files_are_connections(
    limits: tuple[int, int], raised: tuple[int, int] | None, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: changes.append((kind, pair)))
    assert raise_file_limit() == connections
    assert changes == ([] if raised is None else [(resource.RLIMIT_NOFILE, raised)])
