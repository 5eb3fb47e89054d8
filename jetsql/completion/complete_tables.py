"""Complete the options of Kafka tables."""

from __future__ import annotations

from jetsql.completion.candidates import CandidateCollector, CandidateKind
from jetsql.completion.statement_at_cursor import AtCursor
from jetsql.language.body.kafka_options import find_kafka_option, kafka_options, option_place


def add_kafka_options(at: AtCursor, collector: CandidateCollector) -> bool:
    """Add the names of options, or the values of one, and return whether the cursor is in OPTIONS of a Kafka table."""
    place = option_place(at.before)
    if place is None:
        return False
    if place.key:
        option = find_kafka_option(place.key)
        for value in option.choices if option is not None else ():
            collector.add_string(value, CandidateKind.VALUE)
        return True
    suffix = "" if at.behind and at.behind[0].text in ("=", "==") else " = "
    for option in kafka_options():
        for name in option.names:
            if not option.is_refused and name.lower() not in place.given:
                collector.add_string(name, CandidateKind.OPTION, option.text.replace("`", ""), suffix)
    return True
