"""Checks that are run: copies of both sides, the sandbox, the runners as data, and what a check shows."""
