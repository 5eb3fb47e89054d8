"""The life of a job as a picture: boxes for statuses, arrows for the changes that the life cycle's table has.

Places are chosen here. A change in the table that is neither drawn nor left out by name is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

from jetsql.jobs.model.job import Status
from tools.docs.life_cycle import Change, changes

_WIDTH, _HEIGHT = 980, 650
_BOX = 36
_RADIUS = 14.0

Point = tuple[float, float]


@dataclass(frozen=True)
class Arrow:
    """An arrow along some points. events: what the table has to have for it. label: the lines of its text."""

    points: tuple[Point, ...]
    label: tuple[str, ...]
    label_at: Point
    events: tuple[str, ...]


_CENTERS: Final[dict[Status, Point]] = {
    Status.STARTING: (250, 90),
    Status.RUNNING: (570, 90),
    Status.COMPLETED: (880, 90),
    Status.NOT_RUNNING: (410, 210),
    Status.COMPLETING: (570, 330),
    Status.FAILED: (880, 330),
    Status.SUSPENDED: (570, 470),
    Status.SUSPENDED_EXPORTING_SNAPSHOT: (570, 600),
}
_ARROWS: Final[dict[Change, Arrow]] = {
    (None, Status.STARTING): Arrow(((52, 90), (202, 90)), ("CREATE JOB",), (118, 80), ("CREATE JOB",)),
    (Status.STARTING, Status.RUNNING): Arrow(
        ((298, 90), (526, 90)), ("first batch",), (410, 80), ("started", "first batch")
    ),
    (Status.RUNNING, Status.COMPLETED): Arrow(((614, 90), (828, 90)), ("no more rows",), (720, 80), ("no more rows",)),
    (Status.RUNNING, Status.NOT_RUNNING): Arrow(
        ((535, 108), (535, 210), (470, 210)), ("error",), (505, 165), ("error",)
    ),
    (Status.NOT_RUNNING, Status.STARTING): Arrow(
        ((350, 210), (285, 210), (285, 108)),
        ("after a delay,", "or RESUME"),
        (342, 152),
        ("delay is over", "RESUME"),
    ),
    (Status.RUNNING, Status.COMPLETING): Arrow(
        ((570, 108), (570, 312)), ("SUSPEND", "RESTART", "DROP"), (603, 225), ("SUSPEND", "RESTART", "DROP")
    ),
    (Status.COMPLETING, Status.STARTING): Arrow(
        ((514, 330), (250, 330), (250, 108)), ("stopped, for RESTART",), (390, 320), ("stopped for RESTART",)
    ),
    (Status.COMPLETING, Status.SUSPENDED): Arrow(
        ((570, 348), (570, 452)), ("stopped,", "for SUSPEND"), (518, 396), ("stopped for SUSPEND",)
    ),
    (Status.COMPLETING, Status.FAILED): Arrow(
        ((626, 330), (840, 330)), ("stopped, for DROP",), (760, 320), ("stopped for CANCEL",)
    ),
    (Status.RUNNING, Status.SUSPENDED): Arrow(
        ((605, 108), (605, 140), (660, 140), (660, 463), (622, 463)),
        ("error that no", "restart repairs"),
        (718, 236),
        ("error that a restart cannot repair",),
    ),
    (Status.RUNNING, Status.FAILED): Arrow(
        ((614, 101), (790, 101), (790, 250), (880, 250), (880, 312)),
        ("the same, with", "suspendOnFailure = false"),
        (886, 190),
        ("error that a restart cannot repair without suspendOnFailure",),
    ),
    (Status.SUSPENDED, Status.STARTING): Arrow(
        ((518, 470), (215, 470), (215, 108)), ("RESUME",), (360, 460), ("RESUME",)
    ),
    (Status.SUSPENDED, Status.FAILED): Arrow(((622, 478), (880, 478), (880, 348)), ("DROP",), (770, 468), ("DROP",)),
    (Status.SUSPENDED, Status.SUSPENDED_EXPORTING_SNAPSHOT): Arrow(
        ((545, 488), (545, 582)), ("CREATE", "SNAPSHOT"), (500, 530), ("CREATE SNAPSHOT",)
    ),
    (Status.SUSPENDED_EXPORTING_SNAPSHOT, Status.SUSPENDED): Arrow(
        ((595, 582), (595, 488)), ("written",), (630, 540), ("snapshot is written",)
    ),
}
# The same as from RUNNING, which the page says; and a run that ends while it is started or stopped.
_NOT_DRAWN: Final[frozenset[Change]] = frozenset(
    {
        (Status.STARTING, Status.COMPLETING),
        (Status.STARTING, Status.COMPLETED),
        (Status.STARTING, Status.FAILED),
        (Status.NOT_RUNNING, Status.SUSPENDED),
        (Status.NOT_RUNNING, Status.FAILED),
        (Status.NOT_RUNNING, Status.COMPLETED),
        (Status.COMPLETING, Status.COMPLETED),
    }
)
_STYLE: Final = """
text { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; text-anchor: middle; fill: #1d2330; }
text.label { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #4a5163; }
rect { fill: #dbe7fb; stroke: #4a72b8; stroke-width: 1.5; }
rect.final { fill: #e7e9ee; stroke: #7a7f8c; }
rect.page { fill: #ffffff; stroke: none; }
path { stroke: #7a7f8c; stroke-width: 1.8; fill: none; marker-end: url(#head); }
"""


def picture() -> str:
    """Return the picture as SVG. Raises ValueError if the table of the life cycle has other changes."""
    _check(changes())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        ' role="img" aria-label="The statuses of a job and how it goes from one to another">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
        ' orient="auto"><path d="M0 0L10 5L0 10z" style="fill:#7a7f8c;stroke:none;marker-end:none"/></marker></defs>',
        f'<rect class="page" width="{_WIDTH}" height="{_HEIGHT}"/>',
        '<circle cx="44" cy="90" r="7" fill="#7a7f8c"/>',
        *(_arrow(arrow) for arrow in _ARROWS.values()),
        *(_box(status, center) for status, center in _CENTERS.items()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _check(found: dict[Change, set[str]]) -> None:
    expected = {change: set(arrow.events) for change, arrow in _ARROWS.items()}
    unknown = set(found) ^ (set(expected) | _NOT_DRAWN)
    missing = {change for change, events in expected.items() if not events <= found.get(change, set())}
    if unknown or missing:
        raise ValueError(
            f"The picture of the life cycle is not that of its table: {sorted(map(str, unknown | missing))}"
        )


def _box(status: Status, center: Point) -> str:
    x, y = center
    width = len(status.value) * 8.2 + 28
    kind = ' class="final"' if status.is_final else ""
    return (
        f'<rect{kind} x="{x - width / 2:g}" y="{y - _BOX / 2:g}" width="{width:g}" height="{_BOX}" rx="8"/>'
        f'<text x="{x:g}" y="{y + 4.5:g}">{status.value}</text>'
    )


def _arrow(arrow: Arrow) -> str:
    x, y = arrow.label_at
    lines = "".join(
        f'<text class="label" x="{x:g}" y="{y + 16 * number:g}">{escape(line)}</text>'
        for number, line in enumerate(arrow.label)
    )
    return f'<path d="{_rounded(arrow.points)}"/>{lines}'


def _rounded(points: tuple[Point, ...]) -> str:
    """Return a path along the points with round corners."""
    path = f"M{points[0][0]:g} {points[0][1]:g}"
    for (before, corner), (_, after) in pairwise(pairwise(points)):
        enter, leave = _towards(corner, before), _towards(corner, after)
        path += f"L{enter[0]:g} {enter[1]:g}Q{corner[0]:g} {corner[1]:g} {leave[0]:g} {leave[1]:g}"
    return f"{path}L{points[-1][0]:g} {points[-1][1]:g}"


def _towards(point: Point, other: Point) -> Point:
    """Return the place on the way to another point where a corner's curve begins."""
    length = ((other[0] - point[0]) ** 2 + (other[1] - point[1]) ** 2) ** 0.5
    share = min(_RADIUS, length / 2) / length
    return point[0] + (other[0] - point[0]) * share, point[1] + (other[1] - point[1]) * share
