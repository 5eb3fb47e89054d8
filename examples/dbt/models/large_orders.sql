{{ config(
    materialized='job',
    job_options={'snapshotIntervalMillis': 1000},
    wait_until_idle=true
) }}

SELECT id, customer, amount, at
FROM STREAM {{ source('live', 'orders') }}
WHERE amount >= {{ var('large', 100) }}
