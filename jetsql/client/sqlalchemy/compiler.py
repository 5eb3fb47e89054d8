"""Compile SQLAlchemy's constructs to Spark's SQL."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy.sql import compiler, operators

# The words that Spark reserves if `spark.sql.ansi.enforceReservedKeywords` is set. They are always quoted.
_RESERVED: Final = set(
    """
    all and anti any array as asc at authorization between both by case cast check collate column commit constraint
    create cross cube current current_date current_time current_timestamp current_user default delete desc describe
    distinct drop else end escape except exists external extract false fetch filter for foreign from full function
    global grant group grouping having in inner insert intersect interval into is join lateral leading left like
    local map minus natural no not null of offset on only or order out outer overlaps partition position primary range
    references revoke right rollback row rows select semi session_user set some sql start struct system table
    tablesample then time to trailing true truncate union unique unknown update user using value values view when
    where window with within limit
    """.split()
)


class IdentifierPreparer(compiler.IdentifierPreparer):
    reserved_words = _RESERVED

    def __init__(self, dialect: Any, **kw: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`", **kw)


class Compiler(compiler.SQLCompiler):
    def limit_clause(self, select: Any, **kw: Any) -> str:
        limit, offset = select._limit_clause, select._offset_clause
        text = "" if limit is None else f"\n LIMIT {self.process(limit, **kw)}"
        return text if offset is None else f"{text}\n OFFSET {self.process(offset, **kw)}"

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        return f"SELECT {', '.join(self._null(kind) for kind in element_types) or 'NULL'} WHERE false"

    def visit_empty_set_op_expr(self, type_: Any, expand_op: Any, **kw: Any) -> str:
        """Return the empty list of IN. A single NULL has the type of any tuple, also of columns without types."""
        if expand_op is operators.not_in_op:
            return "NULL) OR (1 = 1"
        return "NULL) AND (1 != 1" if expand_op is operators.in_op else self.visit_empty_set_expr(type_)

    def _null(self, kind: Any) -> str:
        return "NULL" if kind._isnull else f"CAST(NULL AS {self.dialect.type_compiler.process(kind)})"

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"{self.process(binary.left, **kw)} RLIKE {self.process(binary.right, **kw)}"

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"NOT ({self.visit_regexp_match_op_binary(binary, operator, **kw)})"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"regexp_replace({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"

    def visit_is_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"NOT ({self.visit_is_not_distinct_from_binary(binary, operator, **kw)})"

    def visit_is_not_distinct_from_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"{self.process(binary.left, **kw)} <=> {self.process(binary.right, **kw)}"

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        return ""

    def render_literal_value(self, value: Any, type_: Any) -> str:
        """Render a literal. In Spark's string literals a backslash begins an escape."""
        text = super().render_literal_value(value, type_)
        return text.replace("\\", "\\\\") if isinstance(value, str) else text


class DDLCompiler(compiler.DDLCompiler):
    def get_column_specification(self, column: Any, **kw: Any) -> str:
        kind = self.dialect.type_compiler.process(column.type)
        clauses = [self.preparer.format_column(column), kind]
        if not column.nullable:
            clauses.append("NOT NULL")
        default = self.get_column_default_string(column)
        if default is not None:
            clauses.append(f"DEFAULT {default}")
        if column.comment is not None:
            clauses.append(f"COMMENT {self._text(column.comment)}")
        return " ".join(clauses)

    def create_table_constraints(self, table: Any, _include_foreign_key_constraints: Any = None, **kw: Any) -> str:
        """Return an empty clause: Spark's tables have neither keys nor checks."""
        return ""

    def visit_column_check_constraint(self, constraint: Any, **kw: Any) -> str:
        return ""

    def post_create_table(self, table: Any) -> str:
        options = table.dialect_options["jetsql"]
        clauses = [f"\nUSING {options['using']}"]
        if options["partitioned_by"]:
            clauses.append(f"PARTITIONED BY ({', '.join(map(self.preparer.quote, options['partitioned_by']))})")
        if options["location"]:
            clauses.append(f"LOCATION {self._text(options['location'])}")
        if table.comment is not None:
            clauses.append(f"COMMENT {self._text(table.comment)}")
        if options["properties"]:
            pairs = [f"{self._text(key)} = {self._text(value)}" for key, value in options["properties"].items()]
            clauses.append(f"TBLPROPERTIES ({', '.join(pairs)})")
        return "\n".join(clauses)

    def visit_create_index(self, create: Any, *args: Any, **kw: Any) -> str:
        """Return a statement without effect. Spark has no indexes; pandas' to_sql creates them only for speed."""
        return "SELECT 1 WHERE false"

    def visit_drop_index(self, drop: Any, **kw: Any) -> str:
        return "SELECT 1 WHERE false"

    def visit_set_table_comment(self, create: Any, **kw: Any) -> str:
        return f"COMMENT ON TABLE {self.preparer.format_table(create.element)} IS {self._text(create.element.comment)}"

    def visit_drop_table_comment(self, drop: Any, **kw: Any) -> str:
        return f"COMMENT ON TABLE {self.preparer.format_table(drop.element)} IS NULL"

    def visit_set_column_comment(self, create: Any, **kw: Any) -> str:
        return self._column_comment(create.element, create.element.comment)

    def visit_drop_column_comment(self, drop: Any, **kw: Any) -> str:
        return self._column_comment(drop.element, "")

    def _column_comment(self, column: Any, comment: str) -> str:
        table = self.preparer.format_table(column.table)
        return f"ALTER TABLE {table} ALTER COLUMN {self.preparer.format_column(column)} COMMENT {self._text(comment)}"

    @staticmethod
    def _text(value: Any) -> str:
        escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"


class TypeCompiler(compiler.GenericTypeCompiler):
    """A compiler that maps each generic type to the Spark type that has all its values."""

    def _string(self, type_: Any, **kw: Any) -> str:
        return "STRING" if type_.length is None else f"VARCHAR({type_.length})"

    visit_VARCHAR = visit_NVARCHAR = visit_unicode = visit_string = _string

    def _text(self, type_: Any, **kw: Any) -> str:
        return "STRING"

    visit_TEXT = visit_text = visit_CLOB = visit_unicode_text = visit_JSON = visit_UUID = visit_uuid = _text

    def visit_CHAR(self, type_: Any, **kw: Any) -> str:
        return "STRING" if type_.length is None else f"CHAR({type_.length})"

    visit_NCHAR = visit_CHAR

    def visit_INTEGER(self, type_: Any, **kw: Any) -> str:
        return "INT"

    def visit_TINYINT(self, type_: Any, **kw: Any) -> str:
        return "TINYINT"

    def visit_float(self, type_: Any, **kw: Any) -> str:
        return "FLOAT" if type_.precision is not None and type_.precision <= 24 else "DOUBLE"

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE" if type_.precision is not None and type_.precision > 24 else "FLOAT"

    def _double(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    visit_DOUBLE = visit_double = visit_DOUBLE_PRECISION = _double

    def visit_REAL(self, type_: Any, **kw: Any) -> str:
        return "FLOAT"

    def _decimal(self, type_: Any, **kw: Any) -> str:
        if type_.precision is None:
            return "DECIMAL(38, 18)"
        return f"DECIMAL({type_.precision}, {type_.scale or 0})"

    visit_NUMERIC = visit_DECIMAL = _decimal

    def _binary(self, type_: Any, **kw: Any) -> str:
        return "BINARY"

    visit_BLOB = visit_BINARY = visit_VARBINARY = visit_large_binary = _binary

    def _datetime(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP" if type_.timezone else "TIMESTAMP_NTZ"

    visit_datetime = visit_DATETIME = visit_TIMESTAMP = visit_TIMESTAMP_NTZ = _datetime

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        return "TIME"

    def visit_INTERVAL(self, type_: Any, **kw: Any) -> str:
        return f"INTERVAL {getattr(type_, 'units', 'DAY TO SECOND')}"

    def visit_VARIANT(self, type_: Any, **kw: Any) -> str:
        return "VARIANT"

    def _void(self, type_: Any, **kw: Any) -> str:
        return "VOID"

    visit_VOID = _void

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        depth = getattr(type_, "dimensions", None) or 1
        return "ARRAY<" * depth + self.process(type_.item_type) + ">" * depth

    def visit_MAP(self, type_: Any, **kw: Any) -> str:
        return f"MAP<{self.process(type_.key_type)}, {self.process(type_.value_type)}>"

    def visit_STRUCT(self, type_: Any, **kw: Any) -> str:
        quote = self.dialect.identifier_preparer.quote_identifier
        return f"STRUCT<{', '.join(f'{quote(name)}: {self.process(kind)}' for name, kind in type_.fields)}>"
