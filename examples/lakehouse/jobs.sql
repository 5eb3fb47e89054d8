-- Where each aircraft landed last. SINK INTO a table with keys is a MERGE: each batch updates the rows of the aircraft
-- that flew, and inserts those of new ones, in one commit of the table.
CREATE JOB aircraft
COMMENT 'the airport at which each aircraft landed last'
OPTIONS ('snapshotIntervalMillis' = '500')
AS SINK INTO aircraft
SELECT tailnum, max_by(dest, struct(scheduled, flight)), max(scheduled), count(*), sum(distance)
FROM STREAM flights WITH ('maxFilesPerTrigger' = '50')
WHERE arr_delay IS NOT NULL
GROUP BY tailnum;

-- The aircraft at each airport. The job does not read flights: it reads the changes of the rows above. When an aircraft
-- moves, the row before the update takes it from one airport, and the row after the update adds it to another.
CREATE JOB airports
COMMENT 'the number of aircraft at each airport'
OPTIONS ('snapshotIntervalMillis' = '500')
AS SINK INTO airports
SELECT airport, sum(CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END)
FROM STREAM aircraft WITH ('readChangeFeed' = 'true')
GROUP BY airport;
