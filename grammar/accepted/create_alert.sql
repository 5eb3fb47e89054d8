CREATE ALERT a ON JOB orders STATUS FAILED CALL 'https://hooks.example.com/jobs';
CREATE ALERT a ON JOB ALL STATUS FAILED, SUSPENDED CALL 'secret:hook' OPTIONS ('format' = 'slack', 'every' = '15 minutes') COMMENT 'on call';
CREATE OR REPLACE ALERT a ON JOB `all` LAG > 5 MINUTES CALL COMMAND page;
CREATE ALERT IF NOT EXISTS `my alert` ON JOB '0401-9f77-b9c0-0001' NO COMMIT FOR 1 HOUR CALL 'https://hooks.example.com/jobs' OPTIONS ('secret' = 'secret:key');
CREATE ALERT a ON JOB j LAG > 10 ROWS CALL 'secret:hook' COMMENT 'not yet' DISABLE
