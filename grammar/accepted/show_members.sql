SHOW MEMBERS;
show members;
