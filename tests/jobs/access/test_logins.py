"""Tokens, their hashes, and the delay after failed logins."""

from __future__ import annotations

from jetsql.home.token_form import proof_key, secret_digest, token_id
from jetsql.jobs.access.access_records import UserToken
from jetsql.jobs.access.failed_logins import FailedLogins
from jetsql.jobs.access.user_tokens import is_token, make_token


def test_token_is_recognized_by_its_hash() -> None:
    created = make_token()
    stored = UserToken(created.id, "ann", created.digest, 0)
    assert token_id(created.text) == created.id and secret_digest(created.text) == created.digest == proof_key(
        created.text
    )
    assert created.text.split("_", 2)[2] not in repr(stored)
    assert is_token(created.text, stored)


def test_other_texts_are_no_token() -> None:
    created = make_token()
    stored = UserToken(created.id, "ann", created.digest, 0)
    wrong = created.text[:-2] + ("aa" if created.text[-2:] != "aa" else "bb")
    others = (
        "",
        "open sesame",
        wrong,
        created.text + "a",
        created.text[4:],
        make_token().text,
        created.digest,
        f" {created.text}",
    )
    assert not any(is_token(text, stored) for text in others)
    assert not is_token(created.text, None) and not is_token("", None) and not is_token("", UserToken("", "ann", "", 0))
    assert proof_key("open sesame") == "open sesame"


def test_tokens_differ() -> None:
    assert len({make_token().text for _ in range(100)}) == 100


def test_failed_logins_are_answered_slowly_after_twenty_in_a_minute() -> None:
    now = [0.0]
    failed = FailedLogins(lambda: now[0])
    assert [failed.note("10.0.0.1") for _ in range(22)] == [0.0] * 20 + [1.0, 1.0]
    assert failed.note("10.0.0.2") == 0.0
    now[0] = 59.0
    assert failed.note("10.0.0.1") == 1.0
    now[0] = 60.0
    assert failed.note("10.0.0.1") == 0.0
