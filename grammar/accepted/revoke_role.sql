REVOKE analysts FROM ann;
