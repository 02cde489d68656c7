"""Sessions in PostgreSQL: journals with a lease and an epoch, files, notes, and the versions of the tables."""
