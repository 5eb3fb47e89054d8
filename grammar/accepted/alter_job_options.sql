ALTER JOB j OPTIONS ('snapshotIntervalMillis' = '500');
ALTER JOB j OPTIONS ('snapshotIntervalMillis' = '500', 'autoScaling' = 'false') RESUME;
ALTER JOB options OPTIONS ('a' = 'b');
