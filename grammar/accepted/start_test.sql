START TEST late_rows_are_counted;
START TEST t COMMENT 'a bid without an auction';
START TEST test;
