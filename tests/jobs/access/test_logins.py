"""Tokens, their hashes, and the delay after failed logins."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event

from jetsql.home.token_form import proof_key, secret_digest, token_id
from jetsql.jobs.access.access_records import UserToken
from jetsql.jobs.access.failed_logins import FailedLogins
from jetsql.jobs.access.logins import Logins
from jetsql.jobs.access.user_tokens import is_token, make_token
from jetsql.request import OWNER, Identity


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


@dataclass
class Users:
    """Users with the token `ann's` of ann."""

    has_users: bool = True
    ended: str = ""
    admins: tuple[str, ...] = (OWNER,)
    is_token_disabled: bool = False
    noted: Event = field(default_factory=Event)

    def identity_of(self, text: str) -> Identity | None:
        return Identity("ann", "abcdefgh") if text == "ann's" else None

    def end_of(self, identity: Identity) -> str:
        return self.ended if identity.user == "ann" else ""

    def is_active_admin(self, user: str) -> bool:
        return user in self.admins

    def is_note_due(self, text: str) -> bool:
        return text == "ann's"

    def note_use(self, text: str) -> None:
        self.noted.set()


def named_user(logins: Logins, name: str, token: str) -> str | None:
    return str(logins.log_in("thrift", name, token, "10.0.0.1")["user"]) or None


def test_login_has_the_name_of_the_user_of_the_token() -> None:
    logins = Logins("home's", Users())
    assert named_user(logins, "ann", "ann's") == named_user(logins, "Ann", "ann's") == "ann"
    assert [named_user(logins, name, "home's") for name in ("owner", "engine", "ann", "")] == [
        OWNER,
        OWNER,
        None,
        None,
    ]
    assert [named_user(logins, name, "ann's") for name in ("owner", "engine", "bob", "")] == [None] * 4
    assert named_user(logins, "ann", "") is None and named_user(logins, "owner", "other") is None


def test_any_name_fits_without_users() -> None:
    for logins in (Logins("home's", Users(has_users=False)), Logins("home's", None)):
        assert named_user(logins, "me", "home's") == named_user(logins, "", "home's") == OWNER
        assert named_user(logins, "me", "other") is None


def test_disabled_token_of_the_home_is_refused() -> None:
    assert named_user(Logins("home's", Users(is_token_disabled=True)), "owner", "home's") is None


def test_login_is_noted_and_a_failed_one_delayed() -> None:
    users = Users()
    logins = Logins("home's", users)
    assert logins.log_in("thrift", "ann", "ann's", "10.0.0.1") == {
        "user": "ann",
        "login": "thrift\nann\nabcdefgh\n\nNone",
        "token": "",
        "refusal": "",
        "millis": 0,
        "has_users": True,
    }
    assert users.noted.wait(30)
    answers = [logins.log_in("thrift", "bob", "ann's", "10.0.0.1") for _ in range(21)]
    assert {each["refusal"] for each in answers} == {
        "The password must be a valid token, and the name that of its user."
    }
    assert [each["millis"] for each in answers] == [0] * 20 + [1000]


def test_connect_is_for_admins_whose_messages_name_them() -> None:
    logins = Logins("home's", Users())
    without_admin = logins.log_in("connect", None, "ann's", "10.0.0.1")
    assert without_admin["user"] == "ann" and "ADMIN, which ann lacks" in without_admin["refusal"]
    assert logins.log_in("connect", None, "home's", "10.0.0.1")["refusal"] == ""
    wrong = logins.log_in("connect", None, "other", "10.0.0.1")
    assert wrong["user"] == "" and wrong["refusal"] == "The token is missing or wrong."


def test_logins_that_have_ended_are_reported_once() -> None:
    users = Users()
    logins = Logins("home's", users)
    logins.log_in("thrift", "ann", "ann's", "10.0.0.1")
    logins.log_in("connect", None, "home's", "10.0.0.1")
    logins.log_in("connect", None, "ann's", "10.0.0.1")  # refused: she is no admin
    assert logins.take_ended() == {}
    users.ended = "The token abcdefgh was dropped."
    assert logins.take_ended() == {"thrift\nann\nabcdefgh\n\nNone": "The token abcdefgh was dropped."}
    assert logins.take_ended() == {}
    users.admins = ()
    assert logins.take_ended() == {"connect\nowner\n\n\nNone": "The user owner lacks the right ADMIN now."}


def test_failed_logins_are_answered_slowly_after_twenty_in_a_minute() -> None:
    now = [0.0]
    failed = FailedLogins(lambda: now[0])
    assert [failed.note("10.0.0.1") for _ in range(22)] == [0.0] * 20 + [1.0, 1.0]
    assert failed.note("10.0.0.2") == 0.0
    now[0] = 59.0
    assert failed.note("10.0.0.1") == 1.0
    now[0] = 60.0
    assert failed.note("10.0.0.1") == 0.0
