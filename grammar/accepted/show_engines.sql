SHOW ENGINES;
show engines;
