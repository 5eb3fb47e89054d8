{#- Functions of a dbt project: CREATE FUNCTION with an expression or query of Spark, or in Python. -#}

{% macro jetsql__scalar_function_sql(target_relation) %}
  {{- jetsql_function_signature(target_relation) }}
return {{ model.compiled_code }}
{% endmacro %}

{% macro jetsql__scalar_function_python(target_relation) %}
  {{- jetsql_function_signature(target_relation) }}
language python handler {{ jetsql_string(model.config.get('entry_point')) }} as $dbt$
{{ model.compiled_code }}
$dbt$
{% endmacro %}

{% macro jetsql_function_signature(relation) -%}
CREATE OR REPLACE FUNCTION {{ relation }} ({{ formatted_scalar_function_args_sql() }})
returns {{ model.returns.data_type }}
  {{- scalar_function_volatility_sql() }}
{%- endmacro %}

{% macro jetsql__formatted_scalar_function_args_sql() -%}
  {%- for argument in model.arguments -%}
    {{ jetsql_name(argument.name) }} {{ argument.data_type }}
    {%- if argument.get('default_value') is not none %} DEFAULT {{ argument.default_value }}{% endif -%}
    {{ ', ' if not loop.last }}
  {%- endfor -%}
{%- endmacro %}

{% macro jetsql__scalar_function_volatility_sql() -%}
  {%- set volatility = model.config.get('volatility') -%}
  {%- if volatility == 'deterministic' %}
deterministic
  {%- elif volatility == 'non-deterministic' %}
not deterministic
  {%- elif volatility is not none -%}
    {% do unsupported_volatility_warning(volatility) %}
  {%- endif -%}
{%- endmacro %}
