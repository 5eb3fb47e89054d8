"""The features that Spark does not have, by their names in SQLAlchemy's suite; all others are tested."""

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements


def _closed(why: str) -> Any:
    return property(lambda self: exclusions.skip_if(lambda: True, why))


def _open() -> Any:
    return property(lambda self: exclusions.open())


_KEYS = "Spark's tables have no keys, no indexes and no constraints"
_GENERATED = "Spark generates no keys"
_ROWS = "Spark's file tables change no single rows"
_TRANSACTIONS = "Spark has no transactions"


class Requirements(SuiteRequirements):
    """Closed: what is not there. Open: what SQLAlchemy does not expect of a stranger."""

    primary_key_constraint_reflection = foreign_key_constraint_reflection = index_reflection = _closed(_KEYS)
    unique_constraint_reflection = check_constraint_reflection = unique_index_reflect_as_unique_constraints = _closed(
        _KEYS
    )
    indexes_with_ascdesc = reflect_indexes_with_ascdesc = recursive_fk_cascade = on_update_cascade = _closed(_KEYS)
    duplicate_key_raises_integrity_error = unique_constraints_reflect_as_index = _closed(_KEYS)
    primary_key_constraint_reflection_order = implicit_constraint_name = _closed(_KEYS)
    autoincrement_insert = insert_returning = implicitly_named_constraints = _closed(_GENERATED)
    autoincrement_without_sequence = emulated_lastrowid = _closed(_GENERATED)
    sequences = identity_columns = computed_columns = no_sequences = _closed(_GENERATED)
    sane_rowcount = sane_multi_rowcount = delete_from = update_from = _closed(_ROWS)
    savepoints = two_phase_transactions = _closed(_TRANSACTIONS)
    temp_table_reflection = temporary_tables = temp_table_names = _closed("Spark has temporary views only")
    empty_inserts = empty_inserts_executemany = _closed("Spark inserts no row without values")
    tuple_in = ctes_on_dml = _closed("not in Spark's grammar")
    time = time_microseconds = time_implicit_bound = _closed("Spark's tables hold no TIME")
    symbol_names_w_double_quote = _closed("Spark's tables have plain names")
    schemas = views = view_reflection = comment_reflection = ctes = ctes_with_values = datetime_literals = _open()
    intersect = except_ = window_functions = window_range = window_range_numeric = _open()
    datetime_timezone = datetime_interval = datetime_historic = date_historic = timestamp_microseconds = _open()
    precision_numerics_many_significant_digits = precision_numerics_retains_significant_digits = _open()
    infinity_floats = server_defaults = boolean_col_expressions = nullsordering = _open()
    table_ddl_if_exists = order_by_label_with_expression = regexp_match = regexp_replace = _open()
    supports_bitwise_or = supports_bitwise_and = supports_bitwise_not = supports_bitwise_xor = _open()
