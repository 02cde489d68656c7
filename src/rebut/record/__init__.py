"""What is on disk: events, journals, sessions, and which session owns which file."""
