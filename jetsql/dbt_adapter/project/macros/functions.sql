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

{#- The boundaries between two times, as dbt-spark counts them: weeks begin on Sunday. Its expression is so long that a view
    with a few of them does not fit into the embedded catalogue. -#}
{% macro jetsql__datediff(first_date, second_date, datepart) -%}
  {%- set shift = ' + interval 1 day' if datepart == 'week' else '' -%}
  timestampdiff({{ datepart }},
    date_trunc('{{ datepart }}', cast({{ first_date }} as timestamp){{ shift }}),
    date_trunc('{{ datepart }}', cast({{ second_date }} as timestamp){{ shift }}))
{%- endmacro %}
