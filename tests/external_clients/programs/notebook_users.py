"""pandas and a notebook over HTTPS, with the token of a user from the environment."""

import os

import pandas
import sqlalchemy
from IPython.core.interactiveshell import InteractiveShell
from story import run_step

import jetsql
from jetsql.client import dbapi

URL = os.environ["JETSQL_TEST_URL"]
os.environ["JETSQL_TOKEN"] = os.environ["JETSQL_TEST_READER"]
shell = InteractiveShell.instance()


def data_frame():
    with jetsql.connect(URL) as connection:
        cursor = connection.arrow_cursor()
        frame = cursor.execute("SELECT * FROM shop.orders ORDER BY id").fetch_df()
    assert frame["customer"].tolist() == ["Ada", "Grace"], frame
    return ""


def read_sql():
    place = URL.removeprefix("https://")
    engine = sqlalchemy.create_engine(f"jetsql://{place}/shop?tls=true")
    with engine.connect() as connection:
        assert len(pandas.read_sql(sqlalchemy.text("SELECT * FROM customers"), connection)) == 2
    assert sorted(sqlalchemy.inspect(engine).get_table_names(schema="shop")) == ["customers", "orders"]
    engine.dispose()
    return ""


def notebook():
    shell.run_line_magic("load_ext", "jetsql")
    shell.run_line_magic("jetsql", URL)
    found = shell.run_cell_magic("jetsql", "", "SELECT current_user() AS me, count(*) AS n FROM shop.orders")
    assert "reader" in str(found), found
    return ""


def hidden_table():
    with jetsql.connect(URL) as connection, connection.cursor() as cursor:
        for table in ("payroll", "missing"):
            try:
                cursor.execute(f"SELECT * FROM shop.{table}")
            except dbapi.Error as caught:
                assert "TABLE_OR_VIEW_NOT_FOUND" in str(caught), caught
            else:
                raise AssertionError("no error")
    return ""


for step in (data_frame, read_sql, notebook, hidden_table):
    run_step(step.__name__, step)
