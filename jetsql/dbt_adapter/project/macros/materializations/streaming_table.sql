{#- Tables that the engine fills: CREATE OR REFRESH STREAMING TABLE and MATERIALIZED VIEW. -#}

{% materialization streaming_table, adapter='jetsql' %}
  {{ return(jetsql_refreshed_table('streaming table')) }}
{% endmaterialization %}

{% materialization materialized_view, adapter='jetsql' %}
  {{ return(jetsql_refreshed_table('materialized view')) }}
{% endmaterialization %}

{% macro jetsql_refreshed_table(kind) %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set existing = load_relation(this) -%}

  {{ run_hooks(pre_hooks) }}

  {%- if config.get('contract').enforced -%}
    {% do get_assert_columns_equivalent(sql) %}
  {%- endif -%}
  {% do jetsql_warn_of_constraints() %}
  {%- if existing is not none and (should_full_refresh() or not jetsql_is_refreshed(kind, existing)) -%}
    {% do adapter.drop_relation(existing) %}
    {%- set existing = none -%}
  {%- endif -%}

  {%- set create = jetsql_create_refreshed_sql(kind, target_relation) -%}
  {#- The job of a view without STREAM has ended: the statement runs it again. -#}
  {%- if existing is not none and jetsql_live_job(this.schema ~ '.' ~ this.identifier) is not none -%}
    {%- if jetsql_has_to_restart(target_relation, adapter.job_verdict(create)) -%}
      {% do adapter.drop_relation(existing) %}
      {%- set existing = none -%}
    {%- endif -%}
  {%- endif -%}
  {%- set message = jetsql_run_command(create) -%}
  {%- if config.get('wait_until_idle') and kind == 'streaming table' -%}
    {% do run_query('refresh streaming table ' ~ target_relation) %}
  {%- endif -%}
  {%- if existing is none -%}
    {% do persist_docs(target_relation, model) %}
  {%- endif -%}

  {% call noop_statement('main', message, kind | upper) -%}
    {{ create }}
  {%- endcall %}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmacro %}

{% macro jetsql_create_refreshed_sql(kind, relation) -%}
create or refresh {{ kind }} {{ relation }} {{ jetsql_expectations()['clause'] }}
  {%- if config.get('job_options') %}
  job options ({{ jetsql_pairs(config.get('job_options')) }})
  {%- endif %}
  {{- jetsql_table_clauses() }}
as
{{ sql }}
{%- endmacro %}

{#- Return whether the relation is a table of this kind. -#}
{% macro jetsql_is_refreshed(kind, relation) %}
  {%- set found = [] -%}
  {%- for row in run_query('show ' ~ kind ~ 's').rows -%}
    {%- if row['namespace'] | lower == relation.schema | lower and row['name'] | lower == relation.identifier | lower -%}
      {%- do found.append(row) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found | length > 0) }}
{% endmacro %}
