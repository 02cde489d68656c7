"""Many debates from one file: its lines, their results, and what is left to do when it is run again."""
