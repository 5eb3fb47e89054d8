"""The rules of plain English that can be checked mechanically, for docstrings, comments, messages and names.

Each failure is a list of lines `file:line: rule: text`. A text in back quotes is code and is not checked.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.paths import ROOT

# A docstring is a noun phrase with its article, or an imperative.
BANNED_BEGINNINGS = frozenset(
    "what whatever who whoever whose whether which that those this these such of why how where when nobody nothing"
    " somebody someone everybody everything anybody anything as while by over its his her their it they from for in on"
    " behind beside with without because if after before until since at to into also again else".split()
)

# Words that begin no imperative, in addition to those above.
NO_VERBS = frozenset(
    "a an the all any both each every either neither no none some one two three first second last next another other"
    " others many more most new old not only and or but so then there here now yes true false none".split()
)

# Imperatives that end like a third person, a participle or a past tense.
VERBS_LIKE_OTHER_FORMS = frozenset(
    "pass process compress access address assess bypass canvass discuss dismiss express focus guess harness miss"
    " press progress stress suppress toss"
    " bring ping ring string swing"
    " embed feed need proceed exceed seed shed speed spread succeed".split()
)

# Imperatives with a preposition: "Warn of a secret" is no noun phrase, "Lines of rows" is one.
VERBS_WITH_OF = frozenset(("dispose", "warn"))

# Words with a plain counterpart, see the rule of each. A hyphen makes another word: `look-ahead`.
BANNED_WORDS = {
    r"doors?": "endpoint, listener",
    r"letter box(es)?": "dead-letter table",
    r"vigils?": "watchdog",
    r"looks?(?! up| ahead| behind| like)|looked(?! up)|looking(?! up)": "read, check, or streaming select",
    r"whoever|somebody|nobody|anybody": "the actor's name",
    r"told|tells?|telling|hears?|heard": "report, return, show",
    r"anew|afresh": "again, new",
    r"beside": "next to, in parallel",
    r"at once": "immediately, at a time",
    r"thereby|in vain": "a main clause",
    r"such an?": "a noun",
    r"lets? go|(comes?|came) about|(gets?|got) nowhere|(gives?|gave|given) up": "a plain verb",
    r"goes on|go on|went on|going on": "continue",
    r"stands?(?! for| by| in for)": "is, is written",
    r"(?<!thing )else": "otherwise",
}
BANNED = re.compile("|".join(rf"(?P<w{n}>\b(?:{words})\b(?!-))" for n, words in enumerate(BANNED_WORDS)), re.IGNORECASE)
CONTRACTION = re.compile(r"\b\w+n't\b|\b(?:it|that|there|what)'s\b", re.IGNORECASE)
MAX_WORDS = 35
"""The limit of words in a sentence of a message."""

# Names in tests with a plain counterpart; small letters stand for both cases. A name has to say what the value is, so
# the counterparts are examples.
BANNED_NAMES = {
    "told": "error, caught, report, message",
    "said|say|saying": "reply, message",
    "heard": "received",
    "made": "created, or the thing itself",
    "(?-i:refused)": "error, error_of, caught",
    "w": "jobs, or a word",
    "world": "the name of the harness",
    "hurt|healing": "RETRYABLE_ERROR",
    "hopeless": "FATAL_ERROR",
    "MAKE": "CREATE",
    "storm": "run_scripts, random statements",
    "mishaps?": "failure, end of a run",
    "conductor": "scheduler",
    "plays?|playing": "run",
    "armings?": "failpoints",
}
NAMES = [
    (re.compile(rf"_*({pattern})\d*", re.IGNORECASE if pattern.islower() else 0), rule)
    for pattern, rule in BANNED_NAMES.items()
]
# Words with which the name of a test names no subject.
BANNED_TEST_BEGINNINGS = frozenset(
    "what whatever who whoever whose which that those this these how where why it its they their there of".split()
)
MAX_NAME_WORDS = 10
"""The limit of words in the name of a test, after `test_`."""

CODE = re.compile(r"`[^`\n]*`|\{[^{}]*\}|'[^'\n]*'")
# Literals of Java and TypeScript, which can contain what looks like a comment, and comments.
C_COMMENT = re.compile(
    r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|`[^`]*`|(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)'
)
JAVADOC_CODE = re.compile(r"\{@\w+ [^}]*\}")
# Text in a Makefile, and the title of a link in Markdown, which is that of a page.
RECIPE = re.compile(r"#\s*(.*)|echo\s+\"(.*)\"")
LINK = re.compile(r"\[[^\]\n]*\]\([^)\n]*\)")
# Comments for tools.
PRAGMA = re.compile(r"#\s*(type:|noqa|mypy:|ruff:|fmt:|pragma:|!)")
# A message is a text of several words that ends as a sentence does.
MESSAGE = re.compile(r"[A-Z`'{].* .*[.?!]", re.DOTALL)
PROPERTIES = frozenset(("property", "cached_property", "setter", "getter"))

OTHER_FILES = (
    *sorted((ROOT / "java" / "src").rglob("*.java")),
    *sorted((ROOT / "console" / "src").rglob("*.ts")),
    ROOT / "Makefile",
    ROOT / "CHANGELOG.md",
)
FOLDERS = sorted(
    {path.parent for top in ("jetsql", "client", "tools", "benchmarks", "tests") for path in (ROOT / top).rglob("*.py")}
)  # one case for each package


@dataclass(frozen=True)
class Text:
    """A docstring, comment or message."""

    kind: str
    line: int
    text: str


@dataclass(frozen=True)
class Problem:
    """A violation of a rule."""

    path: Path
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.rule}: {self.text}"


def docstrings(tree: ast.AST) -> Iterator[Text]:
    """Yield the docstrings of a module: of itself, classes, functions, properties and attributes."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for index, statement in enumerate(body):
            if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
                continue
            if isinstance(statement.value.value, str):
                yield Text(_kind(node, index), statement.lineno, statement.value.value.strip())


def _kind(node: ast.AST, index: int) -> str:
    if index or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return "docstring"
    names = {part for decorator in node.decorator_list for part in re.findall(r"\w+", ast.unparse(decorator))}
    return "docstring" if names & PROPERTIES else "function"


def comments(source: str) -> Iterator[Text]:
    """Yield the comments of a module; consecutive lines with nothing but a comment are one comment."""
    block: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type is not tokenize.COMMENT or PRAGMA.match(token.string):
            continue
        alone = token.line.strip().startswith("#")
        if block and not (alone and token.start == (block[-1].start[0] + 1, block[0].start[1])):
            yield _comment(block)
            block = []
        block.append(token)
        if not alone:
            yield _comment(block)
            block = []
    if block:
        yield _comment(block)


def _comment(block: list[tokenize.TokenInfo]) -> Text:
    return Text("comment", block[0].start[0], " ".join(token.string.lstrip("# ") for token in block))


def messages(tree: ast.AST) -> Iterator[Text]:
    """Yield the messages of a module, with `{}` for the values in them."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
        id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
    }
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        text = _literal(node) if id(node) not in inner | documented else None
        if text is not None and MESSAGE.fullmatch(text):
            yield Text("message", getattr(node, "lineno", 0), text)


def _literal(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values if part is not None
        )
    return None


def beginnings(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the problems of the first words of a docstring."""
    words = re.findall(r"\S+", text.text)[:2]
    first = words[0].strip(".,:;()") if words else ""
    if first.casefold() in BANNED_BEGINNINGS:
        yield "no docstring begins with this word", first
    elif text.kind == "function" and not _is_imperative(first):
        yield "a function's docstring begins with an imperative", first
    elif text.kind == "function" and words[1:] == ["of"] and first.casefold() not in VERBS_WITH_OF:
        yield "a function's docstring begins with an imperative", " ".join(words)


def _is_imperative(word: str) -> bool:
    low = word.casefold()
    if not re.fullmatch(r"[A-Z][a-z]+(-[a-z]+)?", word) or low in NO_VERBS:
        return False
    return low in VERBS_LIKE_OTHER_FORMS or not low.endswith(("s", "ed", "ing"))


def banned_words(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the banned words of a text."""
    prose = CODE.sub(lambda code: " " * len(code.group()), text.text) if text.kind != "message" else text.text
    for match in BANNED.finditer(prose):
        if not match.group().isupper():  # a keyword of SQL
            rule = list(BANNED_WORDS.values())[int((match.lastgroup or "w0")[1:])]
            yield f"{text.kind}: write {rule}", match.group()
    for match in CONTRACTION.finditer(prose) if text.kind == "message" else ():
        if match.group().casefold().endswith("n't") or match.group()[:1].islower():
            yield "message: write it out", match.group()


def long_sentences(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a message that have too many words."""
    for sentence in re.split(r"(?<=[.?!])\s+", text.text):
        if len(sentence.split()) > MAX_WORDS:
            yield f"message: a sentence has more than {MAX_WORDS} words", sentence


def defined_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines, with their lines."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.ExceptHandler(name=str(name))
            ):
                yield node.lineno, name


def banned_names(name: str) -> Iterator[tuple[str, str]]:
    """Yield the problems of a name in a test."""
    for pattern, rule in NAMES:
        if pattern.fullmatch(name):
            yield f"name: write {rule}", name
    if name.startswith("test_"):
        words = name.removeprefix("test_").split("_")
        if len(words) > MAX_NAME_WORDS:
            yield f"name: the name of a test has more than {MAX_NAME_WORDS} words", name
        if words[0] in BANNED_TEST_BEGINNINGS:
            yield "name: the name of a test begins with its subject", name
        yield from banned_words(Text("name", 0, " ".join(words)))


def problems(path: Path) -> Iterator[Problem]:
    """Yield the problems of a module."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    if not path.is_relative_to(ROOT) or path.is_relative_to(ROOT / "tests"):
        for line, name in defined_names(tree):
            yield from (Problem(path, line, *found) for found in banned_names(name))
    documented = list(docstrings(tree))
    texts = list(messages(tree))
    for text in documented:
        yield from (Problem(path, text.line, *found) for found in beginnings(text))
    for text in (*documented, *comments(source), *texts):
        yield from (Problem(path, text.line, *found) for found in banned_words(text))
    for text in texts:
        yield from (Problem(path, text.line, *found) for found in long_sentences(text))


def other_texts(path: Path) -> Iterator[Text]:
    """Yield the comments of Java or TypeScript, the comments and texts of a Makefile, or the lines of Markdown."""
    source = path.read_text(encoding="utf-8")
    if path.suffix in (".java", ".ts"):
        for comment in C_COMMENT.finditer(source):
            if comment["comment"]:
                text = re.sub(r"\s*\n[\s*]*", " ", JAVADOC_CODE.sub("", comment["comment"]))
                yield Text("comment", source.count("\n", 0, comment.start()) + 1, text)
        return
    for number, line in enumerate(source.splitlines(), 1):
        if path.suffix == ".md":
            yield Text("comment", number, LINK.sub("", line))
        elif match := RECIPE.search(line):
            yield Text("comment", number, match[1] or match[2] or "")


def test_plain_english_outside_of_python() -> None:
    found = [
        str(Problem(path, text.line, *problem))
        for path in OTHER_FILES
        for text in other_texts(path)
        for problem in banned_words(text)
    ]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("folder", FOLDERS, ids=[str(folder.relative_to(ROOT)) for folder in FOLDERS])
def test_plain_english(folder: Path) -> None:
    found = [str(problem) for path in sorted(folder.glob("*.py")) for problem in problems(path)]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    ("source", "rules"),
    [
        ('def f():\n    """Return a name."""', []),
        ('def f():\n    """Returns a name."""', ["Returns"]),
        ('def f():\n    """The name."""', ["The"]),
        ('def f():\n    """Names of jobs."""', ["Names"]),
        ('def f():\n    """Text of an error."""', ["Text of"]),
        ('def f():\n    """Whether it runs."""', ["Whether"]),
        ('class C:\n    """What a job reads."""', ["What"]),
        ('class C:\n    """The source of a job."""', []),
        ('class C:\n    @property\n    def f(self):\n        """The name."""', []),
        ('X = 1\n"""Where it is."""', ["Where"]),
        ("x = 1  # somebody else", ["somebody", "else"]),
        ("x = 1  # the value of `else`, the keyword ELSE, look up", []),
        ("# It goes\n# on.\nx = 1", ["goes on"]),
        ('raise E("The job can\'t start.")', ["can't"]),
        ('raise E(f"The job {name} can\'t start at once.")', ["at once", "can't"]),
        ('raise E("The job {name} cannot start.")', []),
        (f'raise E("{"Word " * 36}end.")', ["Word " * 36 + "end."]),
        ("told = 1\nreport.told = 1\nprint(made)", ["told", "told"]),
        ("MAKE = 1\ndef make(w): pass", ["MAKE", "w"]),
        ("def test_a_b_c_d_e_f_g_h_i_j(): pass", []),
        ("def test_a_b_c_d_e_f_g_h_i_j_k(): pass", ["test_a_b_c_d_e_f_g_h_i_j_k"]),
        ("def test_nobody_is_told(): pass", ["nobody", "told"]),
        ("def test_what_fails(): pass", ["test_what_fails"]),
    ],
)
def test_rules(tmp_path: Path, source: str, rules: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert [problem.text for problem in problems(path)] == rules


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        ("A.java", 'String s = "// at once"; // at once\n/** Goes\n * on. {@code else} */', ["at once", "Goes on"]),
        ("a.ts", "const s = `// else`; /* It goes on. */", ["goes on"]),
        ("Makefile", '# at once\nall:\n\t@echo "make it at once"', ["at once", "at once"]),
        ("a.md", "It goes on `at once`, see [Go on](go-on.md)", ["goes on"]),
    ],
)
def test_rules_outside_of_python(tmp_path: Path, name: str, source: str, words: list[str]) -> None:
    (tmp_path / name).write_text(source)
    assert [word for text in other_texts(tmp_path / name) for _, word in banned_words(text)] == words
