-- The airports with the most aircraft now, and at the end of the first part, ${moment}: two joined versions of a table.
SELECT now.airport, then.aircraft AS then, now.aircraft AS now
FROM airports AS now
LEFT JOIN airports TIMESTAMP AS OF '${moment}' AS then ON then.airport = now.airport
ORDER BY now.aircraft DESC, now.airport
LIMIT 5;

-- The aircraft that flew the most miles until then, by the number of the version.
SELECT tailnum, airport, since, flights, miles
FROM aircraft VERSION AS OF ${version}
ORDER BY miles DESC, tailnum
LIMIT 3;

-- All changes of one row: what the job airports reads.
SELECT _commit_version AS version, _change_type AS change, tailnum, airport, since, flights
FROM table_changes('aircraft', 0)
WHERE tailnum = (SELECT max_by(tailnum, (miles, tailnum)) FROM aircraft VERSION AS OF ${version})
ORDER BY version DESC, change DESC
LIMIT 5;
