ALTER SECRET shop FROM FILE '/run/secrets/new';
ALTER SECRET shop FROM ENV 'NEW' FOR 'jdbc:postgresql://db/';
ALTER SECRET shop FOR 'jdbc:postgresql://db/', 'jdbc:postgresql://db2/'
