-- Delays by carrier, over all closed hours.
SELECT
  name AS airline,
  sum(flights) AS flights,
  round(sum(delay_minutes) / sum(landed), 1) AS minutes_late,
  round(100 * sum(late) / sum(landed), 1) AS percent_over_15,
  sum(flights) - sum(landed) AS not_landed
FROM hourly_delays JOIN airlines USING (carrier)
GROUP BY name
ORDER BY minutes_late DESC, name;

-- The busiest routes, as maintained by the job top_routes.
SELECT origin, dest, coalesce(name, '(not in the list of airports)') AS destination, flights, miles
FROM top_routes LEFT JOIN airports ON faa = dest
ORDER BY flights DESC, origin, dest;

-- The days with the worst delays.
SELECT
  date_format(day, 'EEE d MMM yyyy') AS worst_day,
  count(*) AS landed,
  round(avg(arr_delay), 1) AS minutes_late,
  max(arr_delay) AS latest
FROM enriched
GROUP BY day
ORDER BY avg(arr_delay) DESC
LIMIT 7;

-- Rejected rows by reason.
SELECT reason, count(*) AS flights, count(DISTINCT day) AS days, max_by(day, n) AS most_on, max(n) AS that_day
FROM (SELECT *, count(*) OVER (PARTITION BY reason, day) AS n FROM rejected)
GROUP BY reason
ORDER BY flights DESC;
