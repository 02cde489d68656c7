"""A person at the terminal in a seat."""
