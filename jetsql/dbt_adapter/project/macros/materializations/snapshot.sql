{#- Snapshots: what the macros of dbt-spark do not have. -#}

{#- Return columns, as dbt's staging query of snapshots expects; dbt-spark returns the rows of DESCRIBE. -#}
{% macro jetsql__get_columns_in_relation(relation) %}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{% endmacro %}

{#- With several keys, dbt-spark takes the keys of the staging query for columns of the model. -#}
{% macro jetsql__create_columns(relation, columns) %}
  {%- set added = [] -%}
  {%- for column in columns if not column.name.lower().startswith('dbt_unique_key') -%}
    {%- do added.append(column) -%}
  {%- endfor -%}
  {{ return(spark__create_columns(relation, added)) }}
{% endmacro %}
