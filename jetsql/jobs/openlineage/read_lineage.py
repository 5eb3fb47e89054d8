"""Read the lineage of a run that the Java module has found, and give its tables the names of OpenLineage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from jetsql.jobs.openlineage.dataset_names import name_datasets
from jetsql.jobs.openlineage.job_lineage import (
    ColumnUse,
    Dataset,
    JobLineage,
    Transformation,
    WrittenDataset,
)

_DIRECT: Final = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_MASKED: Final = "MASKED "


def read_lineage(text: str, namespace: str) -> JobLineage:
    """Return the lineage of facts of the Java module.

    text: JSON, see `LineageFacts`. namespace: of tables that have no place of their own
    """
    facts = json.loads(text)
    inputs = [_datasets(each, namespace) for each in facts["inputs"]]
    outputs = []
    for each in facts["outputs"]:
        columns = {name: _uses(uses, inputs) for name, uses in each["fields"].items()}
        rows = _uses(each["rows"], inputs)
        outputs += [WrittenDataset(dataset, columns, rows) for dataset in _datasets(each["dataset"], namespace)]
    rules = {name: _uses(uses, inputs) for name, uses in facts["rules"].items()}
    return JobLineage(tuple(dataset for each in inputs for dataset in each), tuple(outputs), rules)


def _datasets(facts: Mapping[str, Any], namespace: str) -> tuple[Dataset, ...]:
    """Return the datasets of one table: one for each topic of a table that reads several."""
    columns = tuple((name, type_) for name, type_ in facts["columns"])
    table, kind = facts.get("table") or "", facts.get("format", "").lower()
    return tuple(Dataset(*names, columns, table, kind) for names in name_datasets(facts, namespace))


def _uses(uses: Iterable[Sequence[Any]], inputs: Sequence[Sequence[Dataset]]) -> tuple[ColumnUse, ...]:
    found = []
    for number, column, *kinds in uses:
        transformations = tuple(_transformation(kind) for kind in kinds)
        found += [ColumnUse(dataset, column, transformations) for dataset in inputs[number]]
    return tuple(found)


def _transformation(kind: str) -> Transformation:
    subtype = kind.removeprefix(_MASKED)
    return Transformation("DIRECT" if subtype in _DIRECT else "INDIRECT", subtype, kind.startswith(_MASKED))
