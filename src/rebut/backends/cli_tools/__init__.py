"""Models behind a command-line tool such as claude or codex."""
