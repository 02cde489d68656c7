"""Random input for every parser of text from outside: `python -m fuzz --seconds 60`."""
