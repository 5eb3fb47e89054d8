SELECT c.country, sum(t.orders) AS orders, sum(t.total) AS total
FROM {{ ref('totals') }} AS t
JOIN {{ ref('customers') }} AS c ON c.name = t.customer
GROUP BY c.country
