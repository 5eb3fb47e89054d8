{{ config(materialized='streaming_table', job_options={'snapshotIntervalMillis': 1000}, wait_until_idle=true) }}

SELECT customer, count(*) AS orders, sum(amount) AS total
FROM STREAM {{ source('live', 'orders') }}
GROUP BY customer
