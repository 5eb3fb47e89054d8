"""JupySQL's %sql and %%sql in an IPython shell, over SQLAlchemy's dialect `jetsql://`."""

import os

from IPython.core.interactiveshell import InteractiveShell
from story import Story, run_step

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "sql")
shell.run_line_magic("config", "SqlMagic.displaycon = False")
shell.run_line_magic("config", "SqlMagic.feedback = 0")
shell.run_line_magic("config", "SqlMagic.named_parameters = 'disabled'")
shell.run_line_magic("sql", os.environ["JETSQL_TEST_SQLALCHEMY"])
last = []


def run(text):
    found = shell.run_cell_magic("sql", "", text)
    last[:] = list(found.keys) if found is not None and found.keys else []
    return [tuple(row) for row in found] if found is not None else []


def frame():
    found = shell.run_cell_magic("sql", "", "SELECT name, status FROM jetsql.jobs").DataFrame()
    assert list(found.columns) == ["name", "status"], found
    return ""


story = Story(run, str, lambda: last, more=(frame,), expected=("JETSQL.JOB_NOT_FOUND",))
story.run_all()
run_step("end", lambda: "")
