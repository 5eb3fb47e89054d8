{#- Incremental models whose columns have changed. -#}

{#- Delta and Iceberg drop columns; Spark refuses it for other tables. -#}
{% macro jetsql__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- if add_columns -%}
    {%- set columns = [] -%}
    {%- for column in add_columns -%}
      {%- do columns.append(column.quoted ~ ' ' ~ column.data_type) -%}
    {%- endfor -%}
    {% do run_query('alter table ' ~ relation ~ ' add columns (' ~ columns | join(', ') ~ ')') %}
  {%- endif -%}
  {%- if remove_columns -%}
    {% do run_query('alter table ' ~ relation ~ ' drop columns (' ~ remove_columns | map(attribute='quoted') | join(', ') ~ ')') %}
  {%- endif -%}
{% endmacro %}

{#- Return the columns that a run writes. With `append_new_columns`, the table keeps columns that the model no longer has. -#}
{% macro jetsql_written_columns(source, target) %}
  {%- set columns = adapter.get_columns_in_relation(target) -%}
  {%- if config.get('on_schema_change') != 'append_new_columns' -%}
    {{ return(columns) }}
  {%- endif -%}
  {%- set present = adapter.get_columns_in_relation(source) | map(attribute='name') | map('lower') | list -%}
  {%- set written = [] -%}
  {%- for column in columns if column.name | lower in present -%}
    {%- do written.append(column) -%}
  {%- endfor -%}
  {{ return(written) }}
{% endmacro %}

{#- Replaces the macro of dbt-spark, which writes all columns of the table. -#}
{% macro get_insert_into_sql(source_relation, target_relation) %}
  {%- set columns = jetsql_written_columns(source_relation, target_relation) | map(attribute='quoted') | join(', ') -%}
  insert into {{ target_relation }} ({{ columns }})
  select {{ columns }} from {{ source_relation }}
{% endmacro %}

{#- dbt-spark writes `update set *` and `insert *`, which need all columns of the table. -#}
{% macro jetsql__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if config.get('on_schema_change') != 'append_new_columns' -%}
    {{ return(spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates)) }}
  {%- endif -%}
  {%- set columns = jetsql_written_columns(source, target) -%}
  {%- set names = columns | map(attribute='quoted') | list -%}
  {%- set updated = get_merge_update_columns(config.get('merge_update_columns'), config.get('merge_exclude_columns'), columns) or names -%}
  {%- set keys = [unique_key] if unique_key is string and unique_key else (unique_key or []) -%}
  {%- set conditions = [] + (incremental_predicates or []) -%}
  {%- for key in keys -%}
    {%- do conditions.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
  {%- endfor -%}
  {%- if not keys -%}
    {%- do conditions.append('false') -%}
  {%- endif -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on {{ conditions | join(' and ') }}
  when matched then update set
    {% for name in updated -%}
    {{ name }} = DBT_INTERNAL_SOURCE.{{ name }}{{ ', ' if not loop.last }}
    {%- endfor %}
  when not matched then insert ({{ names | join(', ') }})
    values (DBT_INTERNAL_SOURCE.{{ names | join(', DBT_INTERNAL_SOURCE.') }})
{% endmacro %}
