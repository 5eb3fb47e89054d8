{#- What JetSQL does otherwise than dbt-spark. -#}

{% macro jetsql__get_binding_char() %}
  {{ return('?') }}
{% endmacro %}

{#- Spark parses some 10000 values in a second. -#}
{% macro jetsql__get_batch_size() %}
  {{ return(1000) }}
{% endmacro %}

{#- dbt-spark asks for the type of each value, and reads the whole column for it. -#}
{% macro jetsql__load_csv_rows(model, agate_table) %}
  {%- set casts = [] -%}
  {%- for name in agate_table.column_names -%}
    {%- set type = model['config'].get('column_types', {}).get(name) or adapter.convert_type(agate_table, loop.index0) -%}
    {%- do casts.append('cast(' ~ get_binding_char() ~ ' as ' ~ type ~ ')') -%}
  {%- endfor -%}
  {%- set values = '(' ~ casts | join(', ') ~ ')' -%}
  {%- set statements = [] -%}
  {%- for rows in agate_table.rows | batch(get_batch_size()) -%}
    {%- set bindings = [] -%}
    {%- for row in rows -%}
      {%- do bindings.extend(row) -%}
    {%- endfor -%}
    {%- set sql = 'insert into ' ~ this ~ ' values ' ~ ([values] * (rows | length)) | join(', ') -%}
    {%- do adapter.add_query(sql, bindings=bindings, abridge_sql_log=True) -%}
    {%- do statements.append(sql) -%}
  {%- endfor -%}
  {{ return(statements[0]) }}
{% endmacro %}

{% macro jetsql_string(value) -%}
  '{{ value | string | replace("\\", "\\\\") | replace("'", "\\'") }}'
{%- endmacro %}

{% macro jetsql_name(name) -%}
  `{{ name | replace("`", "``") }}`
{%- endmacro %}

{% macro jetsql_pairs(pairs) -%}
  {%- for name in pairs %}{{ jetsql_string(name) }} = {{ jetsql_string(pairs[name] | lower if pairs[name] is boolean else pairs[name]) }}{{ ", " if not loop.last }}{% endfor -%}
{%- endmacro %}

{#- The options of the table; `keys` are the columns by which a job updates its rows. -#}
{% macro jetsql__options_clause() -%}
  {%- set options = dict(config.get('options') or {}) -%}
  {%- set keys = config.get('keys') -%}
  {%- if keys -%}
    {%- do options.update({'key.columns': keys if keys is string else keys | join(',')}) -%}
  {%- endif -%}
  {%- if options %}
    options ({{ jetsql_pairs(options) }})
  {%- endif -%}
{%- endmacro %}

{% macro jetsql__tblproperties_clause() -%}
  {%- if config.get('tblproperties') %}
    tblproperties ({{ jetsql_pairs(config.get('tblproperties')) }})
  {%- endif -%}
{%- endmacro %}

{% macro jetsql__comment_clause() -%}
  {%- if config.persist_relation_docs() and model.description %}
    comment {{ jetsql_string(model.description) }}
  {%- endif -%}
{%- endmacro %}

{#- Spark keeps the comments of columns in its catalogue, for tables of every format. -#}
{% macro jetsql__alter_column_comment(relation, column_dict) %}
  {% if not relation.is_view %}
    {% for name in column_dict %}
      {% set column = adapter.quote(name) if column_dict[name]['quote'] else name %}
      {% do run_query('alter table ' ~ relation ~ ' alter column ' ~ column ~ ' comment ' ~ jetsql_string(column_dict[name]['description'])) %}
    {% endfor %}
  {% endif %}
{% endmacro %}

{#- Tables of Delta check constraints. dbt-spark takes a model without `file_format` for one of them. -#}
{% macro jetsql__persist_constraints(relation, model) %}
  {%- if config.get('file_format') == 'delta' -%}
    {% do spark__persist_constraints(relation, model) %}
  {%- endif -%}
{% endmacro %}
