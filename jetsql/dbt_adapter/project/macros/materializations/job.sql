{#- A job that writes the model's table. The first run creates both; later runs update the job if the model has changed. -#}

{% materialization job, adapter='jetsql' %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set job = jetsql_job_name() -%}

  {{ run_hooks(pre_hooks) }}

  {%- if config.get('contract').enforced -%}
    {% do get_assert_columns_equivalent(sql) %}
  {%- endif -%}
  {% do jetsql_warn_of_constraints() %}
  {%- if should_full_refresh() -%}
    {% do jetsql_drop_job(job, load_relation(this)) %}
  {%- endif -%}
  {%- set message = jetsql_apply_job(job, target_relation) -%}
  {%- if config.get('wait_until_idle') -%}
    {% do jetsql_wait_until_idle(job) %}
  {%- endif -%}

  {% call noop_statement('main', message, 'JOB') -%}
    {{ jetsql_create_job_sql(job, target_relation) }}
  {%- endcall %}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{% macro jetsql_job_name() -%}
  {{ return(config.get('job_name') or this.schema ~ '.' ~ this.identifier) }}
{%- endmacro %}

{#- Create the job, or update it. Return the engine's message. -#}
{% macro jetsql_apply_job(job, relation) %}
  {%- set live = jetsql_live_job(job) -%}
  {%- set create = jetsql_create_job_sql(job, relation) -%}
  {%- if live is none -%}
    {%- set existing = adapter.get_relation(none, relation.schema, relation.identifier) -%}
    {%- if existing is not none -%}
      {% do exceptions.raise_database_error(jetsql_no_job_message(job, existing)) %}
    {%- endif -%}
    {{ return(jetsql_create_job(job, relation, create)) }}
  {%- endif -%}

  {%- set verdict = adapter.job_verdict(create) -%}
  {%- if verdict['outcome'] == 'unchanged' -%}
    {%- if live['status'] in ['SUSPENDED', 'FAILED'] -%}
      {% do exceptions.warn("Job " ~ job ~ " is " ~ live['status'] ~ " and stays so. " ~ (live['last_error'] or '') ~ " Run RESUME JOB " ~ jetsql_name(job) ~ " to continue it.") %}
    {%- endif -%}
    {{ return("unchanged, " ~ live['status']) }}
  {%- endif -%}
  {%- if jetsql_has_to_restart(job, verdict) -%}
    {% do jetsql_drop_job(job, relation) %}
    {{ return(jetsql_create_job(job, relation, create)) }}
  {%- endif -%}
  {{ return(jetsql_run_command(create)) }}
{% endmacro %}

{#- The statement: it creates the table as well, unless the model names the verb. -#}
{% macro jetsql_create_job_sql(job, relation) -%}
create or replace job {{ jetsql_name(job) }} {{ jetsql_expectations()['clause'] }}
  {%- if model.description %}
  comment {{ jetsql_string(model.description) }}
  {%- endif %}
  {%- if config.get('job_options') %}
  options ({{ jetsql_pairs(config.get('job_options')) }})
  {%- endif %}
as {% if config.get('verb') -%}
  {{ jetsql_verb() }} {{ relation }}
{%- else -%}
  create table if not exists {{ relation }}
  {{- jetsql_table_clauses() }}
as
{%- endif %}
{{ sql }}
{%- endmacro %}

{#- Return the rules of the model: `clause`, a list in parentheses, and `warnings`. -#}
{% macro jetsql_expectations() -%}
  {%- set tests = [] -%}
  {%- if config.get('expect_tests') -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'test' and node.attached_node == model.unique_id -%}
      {%- do tests.append(node) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- set contract = model if config.get('contract').enforced else none -%}
  {{ return(adapter.expectations(config.get('expectations') or {}, contract, tests)) }}
{%- endmacro %}

{% macro jetsql_warn_of_constraints() %}
  {%- for warning in jetsql_expectations()['warnings'] -%}
    {% do exceptions.warn(model.name ~ ': ' ~ warning) %}
  {%- endfor -%}
{% endmacro %}

{% macro jetsql_verb() -%}
  {%- set verbs = {'insert_into': 'insert into', 'insert_overwrite': 'insert overwrite', 'sink_into': 'sink into'} -%}
  {%- if config.get('verb') not in verbs -%}
    {% do exceptions.raise_compiler_error("Invalid verb: " ~ config.get('verb') ~ ". Expected one of: " ~ verbs | join(', ')) %}
  {%- endif -%}
  {{ verbs[config.get('verb')] }}
{%- endmacro %}

{% macro jetsql_table_clauses() %}
  {{ file_format_clause() }}
  {{- options_clause() }}
  {{- partition_cols(label="partitioned by") }}
  {{- location_clause() }}
  {{- comment_clause() }}
  {{- tblproperties_clause() }}
{% endmacro %}

{#- Create the job and its table; the table is dropped again if the job cannot be created. -#}
{% macro jetsql_create_job(job, relation, create) %}
  {%- if config.get('verb') -%}
    {%- set columns = [] -%}
    {%- for column in adapter.get_column_schema_from_query(sql) -%}
      {%- do columns.append(column.quoted ~ ' ' ~ column.dtype) -%}
    {%- endfor -%}
    {%- set create_table = 'create table ' ~ relation ~ ' (' ~ columns | join(', ') ~ ')' ~ jetsql_table_clauses() -%}
    {%- set message = adapter.create_table_and_job(relation, create_table, create) -%}
  {%- else -%}
    {%- set message = jetsql_run_command(create) -%}
  {%- endif -%}
  {% do persist_docs(relation, model) %}
  {{ return(message) }}
{% endmacro %}

{% macro jetsql_drop_job(job, existing) %}
  {% do run_query('drop job if exists ' ~ jetsql_name(job)) %}
  {%- if existing is not none -%}
    {% do adapter.drop_relation(existing) %}
  {%- endif -%}
{% endmacro %}

{#- Return status and last error of a job that has not ended, or none. -#}
{% macro jetsql_live_job(job) %}
  {%- set rows = run_query("select status, last_error from jetsql.jobs where name = " ~ jetsql_string(job) ~ " and status not in ('FAILED', 'COMPLETED', 'DROPPED')").rows -%}
  {{ return({'status': rows[0][0], 'last_error': rows[0][1]} if rows else none) }}
{% endmacro %}

{#- Run a statement about a job, and return its message. -#}
{% macro jetsql_run_command(statement) %}
  {{ return(run_query(statement).rows[0]['message']) }}
{% endmacro %}

{% macro jetsql_wait_until_idle(job) %}
  {% do run_query('wait for job ' ~ jetsql_name(job) ~ ' until idle' ~ (' timeout ' ~ config.get('wait_seconds') ~ ' seconds' if config.get('wait_seconds') else '')) %}
{% endmacro %}

{#- Return whether the job has to start again without its state. Raise an error if the model does not permit the update. -#}
{% macro jetsql_has_to_restart(job, verdict) %}
  {%- set update = config.get('update', 'keep_state') -%}
  {%- if update not in ['keep_state', 'fail', 'restart'] -%}
    {% do exceptions.raise_compiler_error("Invalid update: " ~ update ~ ". Expected one of: keep_state, fail, restart") %}
  {%- endif -%}
  {%- set hint = "\nRun dbt with --full-refresh to drop the job and its table, and to start again without the state." -%}
  {%- if verdict['outcome'] == 'refused' and update != 'restart' -%}
    {% do exceptions.raise_database_error("[JETSQL.STATE_NOT_COMPATIBLE] Job " ~ job ~ " cannot continue with the changed model, and runs unchanged: " ~ verdict['text'] ~ hint) %}
  {%- elif verdict['outcome'] == 'possible' and update == 'fail' -%}
    {% do exceptions.raise_database_error("Model or configuration of job " ~ job ~ " has changed, and the model has `update: fail`. The job runs unchanged. An update is possible: " ~ verdict['text'] ~ hint) %}
  {%- endif -%}
  {{ return(verdict['outcome'] == 'refused') }}
{% endmacro %}

{% macro jetsql_no_job_message(job, existing) %}
  {{ return("[JETSQL.TABLE_ALREADY_EXISTS] " ~ existing ~ " exists, but job " ~ job ~ " does not, or it has ended.\nRun dbt with --full-refresh to drop it and to create it again with a job, or use another alias.") }}
{% endmacro %}
