"""The dialect of sqlglot with a version of sqlglot that another program pins: every statement of the grammar."""

import logging
from pathlib import Path

import sqlglot
from sqlglot import exp
from story import run_step

GRAMMAR = Path(__file__).parents[3] / "grammar" / "accepted"

logging.getLogger("sqlglot").setLevel(logging.ERROR)


def statements():
    """Parse the examples of each statement, and generate them; a comment names what a statement is an example of."""
    files = sorted(GRAMMAR.glob("*.sql"))
    count = 0
    for file in files:
        for tree in filter(None, sqlglot.parse(file.read_text(), read="jetsql")):
            assert isinstance(tree, exp.Expression)
            text = tree.sql("jetsql")
            [again] = sqlglot.parse(text, read="jetsql")
            assert again.sql("jetsql") == text, (file.name, text)
            count += 1
    assert count > len(files), count
    return f"{count} statements with sqlglot {sqlglot.__version__}"


if __name__ == "__main__":
    run_step("statements", statements)
