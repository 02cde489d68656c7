"""What a debate is about: a text, a file, a change in git, or several of these."""
