{#- Functions that Spark has since dbt-spark wrote its own. -#}

{#- With a limit, the list is cut as an array; U+0001 separates its parts, whatever the delimiter is. -#}
{% macro jetsql__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- set order = ' within group (' ~ order_by_clause ~ ')' if order_by_clause else '' -%}
  {%- if limit_num -%}
    array_join(slice(split(listagg({{ measure }}, '\u0001'){{ order }}, '\u0001'), 1, {{ limit_num }}), {{ delimiter_text }})
  {%- else -%}
    listagg({{ measure }}, {{ delimiter_text }}){{ order }}
  {%- endif -%}
{%- endmacro %}
