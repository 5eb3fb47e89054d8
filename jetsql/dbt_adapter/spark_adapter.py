"""The adapter: that of dbt-spark, with the verdict on jobs, and the columns of queries over streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dbt.adapters.base.meta import available
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.spark import SparkAdapter
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.impl import SparkConfig
from dbt.adapters.spark.relation import SparkRelation
from dbt_common.exceptions import DbtRuntimeError

from jetsql.dbt_adapter.connection_manager import JetSQLConnectionManager, JetSQLDatabaseError
from jetsql.dbt_adapter.model_rules import InvalidExpectation, model_rules
from jetsql.jobs.planning.update_verdict import UpdateKind, UpdateVerdict, read_verdict

_OTHER_COLUMNS: Final = "JETSQL.TABLE_ALREADY_EXISTS"


@dataclass
class JetSQLConfig(SparkConfig):
    """The configuration of models: that of dbt-spark, and that of jobs."""

    job_name: str | None = None  # the default is schema.identifier
    job_options: dict[str, Any] | None = None
    keys: list[str] | str | None = None  # the columns by which rows are updated
    verb: str | None = None  # insert_into, insert_overwrite, sink_into; the default follows from the query
    update: str = "keep_state"  # keep_state, fail, restart
    wait_until_idle: bool = False
    wait_seconds: int | None = None
    tblproperties: dict[str, Any] | None = None
    expectations: dict[str, Any] | None = None  # the rules of a job or a streaming table
    expect_tests: bool = False  # data tests of single rows are rules as well


class JetSQLAdapter(SparkAdapter):
    """The adapter of dbt."""

    ConnectionManager = JetSQLConnectionManager
    AdapterSpecificConfigs = JetSQLConfig

    def __init__(self, config: Any, mp_context: Any) -> None:
        """Create it. config: dbt's configuration. mp_context: of Python's multiprocessing"""
        super().__init__(config, mp_context)
        JetSQLConnectionManager.project = config.project_name

    def list_relations_without_caching(self, schema_relation: SparkRelation) -> list[SparkRelation]:
        """Return the tables and views of a schema. Spark returns only the last part of a schema such as `lake.shop`."""
        found = super().list_relations_without_caching(schema_relation)
        return [relation.incorporate(path={"schema": schema_relation.schema}) for relation in found]

    def drop_schema(self, relation: SparkRelation) -> None:
        """Drop a schema with its tables and views. A catalogue such as Iceberg's drops only an empty one."""
        if "." in relation.schema:
            for each in self.list_relations_without_caching(relation):
                self.drop_relation(each)
        super().drop_schema(relation)

    def get_column_schema_from_query(self, sql: str) -> list[SparkColumn]:
        """Return the columns of a query. It is only analyzed, so it can be one over streams."""
        _, table = self.execute(f"DESCRIBE QUERY {sql}", fetch=True)
        return [self.Column.create(row[0], row[1]) for row in table.rows]

    @available
    def job_verdict(self, statement: str) -> Mapping[str, str]:
        """Return the effect of CREATE OR REPLACE JOB on the live job: `outcome`, a value of UpdateKind, and `text`.

        Raises DbtDatabaseError for a statement that is wrong in itself.
        """
        try:
            _, table = self.execute(f"EXPLAIN {statement}", fetch=True)
        except JetSQLDatabaseError as error:
            if error.condition != _OTHER_COLUMNS:
                raise
            verdict: UpdateVerdict | None = UpdateVerdict(UpdateKind.REFUSED, str(error.msg))
        else:
            verdict = read_verdict("\n".join(str(row[0]) for row in table.rows))
        if verdict is None:  # the statement creates the job
            return {"outcome": "", "text": ""}
        return {"outcome": verdict.kind.value, "text": verdict.details}

    @available
    def expectations(
        self,
        expectations: Mapping[str, Any],
        contract: Mapping[str, Any] | None,
        tests: Sequence[Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """Return the rules of a model: `clause` as CREATE JOB has it, and `warnings` of constraints without a rule.

        Raises DbtRuntimeError for a rule that is not complete. The arguments are those of `model_rules`.
        """
        try:
            rules = model_rules(expectations, contract, tests)
        except InvalidExpectation as error:
            raise DbtRuntimeError(str(error)) from error
        return {"clause": rules.clause, "warnings": rules.warnings}

    @available
    def create_table_and_job(self, relation: SparkRelation, create_table: str, create_job: str) -> str:
        """Create a table, then the job that writes it, and return the engine's message.

        The table is dropped if the job cannot be created.
        """
        self.execute(create_table)
        try:
            _, table = self.execute(create_job, fetch=True)
        except JetSQLDatabaseError:
            self.drop_relation(relation)
            raise
        return str(table.rows[0]["message"])

    def submit_python_job(self, parsed_model: dict[str, Any], compiled_code: str) -> Any:
        """Raise DbtRuntimeError: a model is a query."""
        raise DbtRuntimeError(
            "JetSQL has no models in Python. Write the model in SQL; CREATE FUNCTION ... LANGUAGE PYTHON defines"
            " functions in Python that it can call."
        )

    @classmethod
    def _get_adapter_specific_run_info(cls, config: RelationConfig) -> dict[str, Any]:
        return {**super()._get_adapter_specific_run_info(config), "adapter_type": "jetsql"}
