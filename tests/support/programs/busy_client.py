"""A client that runs statements about jobs until it is killed. Its arguments are URL, token and a seed."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from jetsql.client.engine_client import EngineClient
from jetsql.errors import ReportedError

STATEMENTS = (
    "CREATE OR REPLACE JOB {} AS INSERT INTO out SELECT * FROM STREAM src",
    "CREATE JOB IF NOT EXISTS {} AS INSERT INTO out SELECT * FROM STREAM src",
    "SUSPEND JOB {}",
    "RESUME JOB {}",
    "RESTART JOB {}",
    "CREATE OR REPLACE SNAPSHOT {} FOR JOB {}",
    "DROP JOB {}",
    "DROP JOB {} WITH SNAPSHOT last_of_{}",
    "DROP SNAPSHOT IF EXISTS last_of_{}",
    "SHOW ALL JOBS",
)

url, token, seed = sys.argv[1:]
chance = random.Random(seed)
engine = EngineClient(url, token)
engine.current_schema()
sys.stdout.write("busy\n")
sys.stdout.flush()
while True:
    job = chance.choice(("one", "two", "three"))
    try:
        list(engine.run(chance.choice(STATEMENTS).replace("{}", job)).rows)
    except ReportedError as error:
        assert error.report.condition != "JETSQL.INTERNAL_ERROR", error
