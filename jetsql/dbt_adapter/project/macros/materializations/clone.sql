{#- The clone of a table of Delta is a shallow clone. That of another table or view is a view over it. -#}

{% materialization clone, adapter='jetsql' %}
  {{ return(materialization_clone_default()) }}
{% endmaterialization %}

{% macro jetsql__can_clone_table() %}
  {{ return(config.get('file_format') == 'delta') }}
{% endmacro %}

{#- Delta clones into new and empty tables only. -#}
{% macro jetsql__create_or_replace_clone(this_relation, defer_relation) %}
  {% do adapter.drop_relation(this_relation) %}
  {{ return(spark__create_or_replace_clone(this_relation, defer_relation)) }}
{% endmacro %}

{#- dbt's clone finds the materialization of views by the name of the adapter. -#}
{% materialization view, adapter='jetsql' %}
  {{ return(create_or_replace_view()) }}
{% endmaterialization %}
