"""What is recorded: events, journals, sessions, in folders or in PostgreSQL; and which session owns which file."""
