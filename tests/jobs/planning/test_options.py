"""The options of jobs: spellings, errors with positions, secrets; the ids of jobs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import OutputMode
from jetsql.jobs.model.ids import IdMaker, canonical_id, id_number
from jetsql.jobs.model.job_options import Guarantee, Options, Trigger
from jetsql.jobs.model.redaction import is_secret, redact, redact_urls, show
from jetsql.jobs.planning.options import OPTIONS, parse_options, spec_of
from jetsql.jobs.planning.protected_confs import protection_reason
from tests.support import secret_names
from tests.support.engines.jobs_harness import option
from tests.support.golden_reports import raises


def parsed(**options: str) -> Options:
    return parse_options(option(key, value) for key, value in options.items()).values


def error_of(*options: tuple[str, str]) -> StatementError:
    with raises(StatementError) as caught:
        parse_options(option(key, value, 10 * at) for at, (key, value) in enumerate(options, 1))
    return caught.value


@pytest.mark.parametrize("key", ["processingGuarantee", "PROCESSING_GUARANTEE", "processing-guarantee"])
@pytest.mark.parametrize("value", ["exactlyOnce", "EXACTLY_ONCE", "exactly-once", "ExactlyOnce"])
def test_keys_and_words_are_compared_without_case_and_lines(key: str, value: str) -> None:
    options = parse_options([option(key, value)]).values
    assert options.processing_guarantee is Guarantee.EXACTLY_ONCE
    assert options.given == {"processingGuarantee": "exactlyOnce"}


def test_every_option_has_its_field_default_and_spelling() -> None:
    plain = Options()
    for spec in OPTIONS:
        assert hasattr(plain, spec.field)
        assert spec.explanation.endswith(".") and spec.values and spec.default
        assert spec_of(spec.name.upper()) is spec
        for word in spec.words:
            assert parse_options([option(spec.name, word.upper())]).values.given == {spec.name: word}


def test_typed_values() -> None:
    options = parsed(
        snapshotIntervalMillis=" 0250 ", restart_attempts="0", autoScaling="FALSE", trigger="available_now",
        outputmode="UPDATE", initialSnapshotName="Before Noon", suspendOnFailure="true",
    )  # fmt: skip
    assert (options.snapshot_interval_millis, options.restart_attempts, options.auto_scaling) == (250, 0, False)
    assert (options.trigger, options.output_mode) == (Trigger.AVAILABLE_NOW, OutputMode.UPDATE)
    assert (options.initial_snapshot, options.suspend_on_failure) == ("Before Noon", True)
    assert options.given["snapshotIntervalMillis"] == "250"
    assert parsed(snapshotIntervalMillis=str(2**63 - 1)).snapshot_interval_millis == 2**63 - 1


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("autoScaling", "yes", "Valid values: true, false."),
        ("autoScaling", "1", "Valid values: true, false."),
        ("autoScaling", "t_rue", "Valid values: true, false."),
        (
            "processingGuarantee",
            "exactlyOnec",
            "Did you mean 'exactlyOnce'? Valid values: exactlyOnce, atLeastOnce, none.",
        ),
        ("trigger", "once", "Valid values: interval, availableNow, realTime."),
        ("snapshotIntervalMillis", "0", "Valid values: a positive whole number."),
        ("snapshotIntervalMillis", "-5", "Valid values: a positive whole number."),
        ("snapshotIntervalMillis", "1_000", "Valid values: a positive whole number."),
        ("snapshotIntervalMillis", "1e3", "Valid values: a positive whole number."),
        ("snapshotIntervalMillis", "9" * 5000, "Valid values: a positive whole number."),
        ("snapshotIntervalMillis", str(2**63), "Valid values: a positive whole number."),
        ("snapshotIntervalMillis", "²", "Valid values: a positive whole number."),
        ("restartAttempts", "", "Valid values: 0 or a positive whole number."),
        ("initialSnapshotName", " ", "Valid values: the name of a snapshot."),
    ],
)
def test_bad_values_are_refused_at_the_value(key: str, value: str, hint: str) -> None:
    error = error_of((key, value))
    assert error.condition == "JETSQL.INVALID_OPTION_VALUE"
    assert error.place == option(key, value, 10).value_place
    assert hint in error.hint


@pytest.mark.parametrize(("key", "smallest"), [("snapshotIntervalMillis", 1), ("restartAttempts", 0)])
def test_numbers_have_limits(key: str, smallest: int) -> None:
    for accepted in (smallest, smallest + 1, 2**63 - 2, 2**63 - 1):
        assert getattr(parsed(**{key: str(accepted)}), spec_of(key).field) == accepted  # type: ignore[union-attr]
    for number in (smallest - 1, 2**63, 10**19):
        with pytest.raises(StatementError, match="INVALID_OPTION_VALUE"):
            parsed(**{key: str(number)})


def test_unknown_keys_are_refused_at_the_key() -> None:
    error = error_of(("trigger", "interval"), ("restartAtempts", "3"))
    assert error.condition == "JETSQL.UNKNOWN_OPTION"
    assert error.hint == "Did you mean 'restartAttempts'?"
    assert error.place == option("restartAtempts", "3", 20).key_place
    assert "snapshotIntervalMillis" in error_of(("colour", "red")).hint


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("autoScaling", "AUTO_SCALING"),
        ("spark.sql.caseSensitive", "spark.sql.caseSensitive"),
        ("spark.sql.caseSensitive", "SPARK.sql.casesensitive"),
    ],
)
def test_doubled_keys_are_refused_at_the_second(first: str, second: str) -> None:
    error = error_of((first, "true"), (second, "true"))
    assert error.condition == "JETSQL.DUPLICATE_OPTION"
    assert error.place == option(second, "true", 20).key_place


def test_settings_of_spark_are_kept_as_written() -> None:
    options = parse_options(
        [option("spark.sql.caseSensitive", "True"), option("spark.sql.shuffle.partitions", "4")]
    ).values
    assert options.spark_confs == {"spark.sql.caseSensitive": "True", "spark.sql.shuffle.partitions": "4"}
    assert options.given == options.spark_confs


@pytest.mark.parametrize(
    "key",
    [
        "spark.sql.streaming.stateStore.providerClass",
        "spark.sql.streaming.checkpointLocation",
        "spark.sql.adaptive.enabled",
        "SPARK.SQL.ADAPTIVE.ENABLED",
        "spark.sql.sources.partitionOverwriteMode",
    ],
)
def test_settings_that_delivery_depends_on_are_refused_by_name(key: str) -> None:
    error = error_of((key, "x"))
    assert key in error.message and ": " in error.message
    assert error.place == option(key, "x", 10).key_place


def test_shuffle_partitions_are_refused_only_once_there_is_state() -> None:
    assert protection_reason("spark.sql.shuffle.partitions") is None
    assert protection_reason("spark.sql.shuffle.partitions", has_state=True) is not None
    assert protection_reason("spark.sql.shuffle.partitionsX", has_state=True) is None


def test_new_options_come_on_top_of_those_before() -> None:
    before = {"restartAttempts": "5", "trigger": "interval", "spark.sql.a": "1"}
    options = parse_options([option("RESTART_attempts", "7")], before=before)
    assert options.values.given == {"restartAttempts": "7", "trigger": "interval", "spark.sql.a": "1"}
    assert list(options.texts) == ["restartAttempts"]
    assert options.value_place("trigger") is None
    same = parse_options([option("SPARK.sql.A", "2")], before=before)
    assert same.values.spark_confs == {"SPARK.sql.A": "2"}


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=30), max_size=4))
def test_any_texts_give_options_or_an_error_at_a_literal(texts: dict[str, str]) -> None:
    try:
        parse_options(option(key, value) for key, value in texts.items())
    except StatementError as error:
        assert error.place is not None


@pytest.mark.parametrize("name", secret_names.SECRET)
def test_secret_names(name: str) -> None:
    assert is_secret(name)
    assert show({name: "geheim"}) == {name: "***"}
    assert show({name: "secret:env:PW"}) == {name: "secret:env:PW"}


@pytest.mark.parametrize("name", secret_names.PLAIN)
def test_names_that_are_no_secrets(name: str) -> None:
    assert not is_secret(name)
    assert show({name: "a"}) == {name: "a"}


@pytest.mark.parametrize("name", ["sig", "apikey", "SharedAccessKey", "pwd", "X-Amz-Signature"])
def test_parameters_of_urls_that_are_secrets(name: str) -> None:
    assert redact_urls(f"at https://host/x?a=1&{name}=geheim&b=2") == f"at https://host/x?a=1&{name}=***&b=2"


def test_secrets_in_urls_are_hidden() -> None:
    text = "cannot reach jdbc:postgresql://ann:pw1@db/x?user=ann&password=pw2&ssl=true and https://tok@h/p"
    shown = redact_urls(text)
    assert shown == "cannot reach jdbc:postgresql://***@db/x?user=ann&password=***&ssl=true and https://***@h/p"
    assert redact("user ann, password is s3cret!", {"spark.password": "s3cret!"}) == "user ann, password is ***"
    assert redact("a 'a' cat's", {"spark.password": "a"}) == "*** '***' cat's"


def test_ids_ascend_even_when_the_clock_jumps_back() -> None:
    times = iter([1000.0, 1000.0, 500.0, 1000.000001, 2000.0])
    make = IdMaker(lambda: next(times))
    ids = [make() for _ in range(5)]
    assert ids == sorted(set(ids))
    assert all(canonical_id(text.upper()) == text and len(text) == 19 for text in ids)
    assert id_number(IdMaker(lambda: 1.0, after=ids[-1])()) == id_number(ids[-1]) + 1
    assert canonical_id("0401-9f77-b9c0") is None and canonical_id("j") is None
