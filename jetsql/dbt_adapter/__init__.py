"""The adapter of dbt: models, tests, seeds and docs over the HTTP endpoint, and jobs as a materialization.

It extends dbt-spark, whose macros write Spark's SQL: only what JetSQL does otherwise is in the dbt project of this
package, `project/`. dbt loads the module `dbt.adapters.jetsql`, whose source is `client/dbt_plugin`.
"""
