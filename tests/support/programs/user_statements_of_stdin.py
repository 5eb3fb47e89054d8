"""Run the statements of users, lines of stdin, on an engine of this process.

    python -m tests.support.programs.user_statements_of_stdin HOME

Each line of input is JSON: the user and the statement. Each line of output is JSON: the rows of the statement, or the
text of its error.
"""

from __future__ import annotations

import json
import sys

import jetsql
from jetsql.engine.session.engine_sessions import open_user_session
from tests.support.engines.spark_conf import CONF

if __name__ == "__main__":
    with jetsql.open(home=sys.argv[1], master="local[2]", conf=CONF) as engine:
        sessions = {"owner": engine.spark}
        for line in sys.stdin:
            user, text = json.loads(line)
            if user not in sessions:
                sessions[user] = open_user_session(engine.spark, user)
            try:
                answer: object = [list(row) for row in sessions[user].sql(text).collect()]
            except Exception as error:
                answer = str(error)
            sys.stdout.write(json.dumps(answer, default=str) + "\n")
            sys.stdout.flush()
