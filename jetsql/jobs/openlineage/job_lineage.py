"""The lineage of a run: the datasets that its query reads and writes, and where each column comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Dataset:
    """A table or a topic, by the names of OpenLineage."""

    namespace: str
    name: str
    columns: tuple[tuple[str, str], ...] = ()  # the names of its columns, with their types
    table: str = ""  # its qualified name in the catalogue; empty if it has none
    format: str = ""  # such as `kafka` or `parquet`

    @property
    def key(self) -> tuple[str, str]:
        """Return what identifies it."""
        return self.namespace, self.name


@dataclass(frozen=True, order=True)
class Transformation:
    """The way in which a column depends on another one, with the types and subtypes of OpenLineage."""

    type: str  # DIRECT, or INDIRECT if the other column only decides which value or row there is
    subtype: str  # such as IDENTITY, AGGREGATION, FILTER
    masking: bool = False  # the value does not show that of the other column, as a hash


@dataclass(frozen=True)
class ColumnUse:
    """A column of a dataset on which a column or a row depends."""

    dataset: Dataset
    column: str
    transformations: tuple[Transformation, ...]


@dataclass(frozen=True)
class WrittenDataset:
    """A dataset that a run writes."""

    dataset: Dataset
    columns: Mapping[str, tuple[ColumnUse, ...]] = field(default_factory=dict)  # by column, what it depends on
    rows: tuple[ColumnUse, ...] = ()  # what decides which rows there are


@dataclass(frozen=True)
class JobLineage:
    """The datasets of a run."""

    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[WrittenDataset, ...] = ()
    rules: Mapping[str, tuple[ColumnUse, ...]] = field(default_factory=dict)  # by rule, the columns that it checks


NO_LINEAGE = JobLineage()
"""The lineage of a run whose query was not analysed."""
