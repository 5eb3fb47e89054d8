RUN FILE 'totals.sql';
RUN FILE 'tables.sql', "jobs.sql";
