"""Models behind a command-line tool that the user is logged in to."""
