"""SQLMesh with the sqlglot that it pins: every statement of the grammar in the dialect, and a model that it renders."""

import tempfile
from pathlib import Path

from sqlglot_dialect import statements
from sqlmesh import Context
from story import run_step

SETTINGS = "model_defaults: {dialect: jetsql}\ngateways: {local: {connection: {type: duckdb}}}\n"
MODEL = """MODEL (
  name shop.totals,
  kind INCREMENTAL_BY_TIME_RANGE (time_column day),
  dialect jetsql,
  columns (day DATE, customer STRING, total DECIMAL(10, 2), hours ARRAY<TIMESTAMP>)
);

SELECT
  o.day,
  o.customer,
  sum(o.amount)::DECIMAL(10, 2) AS total,
  collect_set(date_trunc('HOUR', o.at)) AS hours
FROM shop.orders AS o
LATERAL VIEW explode(o.items) i AS item
WHERE o.day BETWEEN @start_ds AND @end_ds AND item['name'] RLIKE 'a.*'
GROUP BY o.day, o.customer
"""
BEFORE = "MODEL (name shop.large, kind VIEW, dialect jetsql);\nSELECT customer FROM shop.totals WHERE total > 100"

folder = Path(tempfile.mkdtemp(prefix="jetsql-sqlmesh-"))


def load():
    global context
    (folder / "models").mkdir()
    (folder / "config.yaml").write_text(SETTINGS)
    (folder / "models" / "totals.sql").write_text(MODEL)
    (folder / "models" / "large.sql").write_text(BEFORE)
    context = Context(paths=[str(folder)])
    model = context.get_model("shop.totals")
    assert model.dialect == "jetsql", model.dialect
    return ""


def render():
    text = context.render("shop.totals", start="2013-01-01", end="2013-01-01").sql("jetsql")
    for part in ("'2013-01-01'", "LATERAL VIEW", "RLIKE", "COLLECT_SET(", "AS DECIMAL(10, 2)"):
        assert part in text, text
    return ""


def lineage():
    large = context.get_model("shop.large")
    assert {table.split(".")[-1].strip('"') for table in large.depends_on} == {"totals"}, large.depends_on
    return ""


def format_models():
    """Format the models with SQLMesh, and load them again."""
    context.format()
    text = (folder / "models" / "totals.sql").read_text()
    assert "dialect jetsql" in text and "LATERAL VIEW" in text, text
    context.load()
    render()
    return ""


for step in (statements, load, render, lineage, format_models):
    run_step(step.__name__, step)
