"""Tests with a real PostgreSQL: `make test-postgres`."""
