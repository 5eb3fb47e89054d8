{{ config(materialized='materialized_view') }}

SELECT customer, max(amount) AS largest
FROM {{ ref('large_orders') }}
GROUP BY customer
