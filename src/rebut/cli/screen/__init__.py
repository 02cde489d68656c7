"""The live view of a running debate on a terminal."""
