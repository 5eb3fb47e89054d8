DROP ROLE analysts;
DROP ROLE IF EXISTS analysts;
DROP ROLE if;
