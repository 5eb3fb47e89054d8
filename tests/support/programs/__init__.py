"""Programs that tests run as processes of their own: to kill them, or because they bring a Spark session themselves."""
