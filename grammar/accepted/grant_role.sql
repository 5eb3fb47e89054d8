GRANT analysts TO ann;
GRANT analysts TO `all analysts`;
