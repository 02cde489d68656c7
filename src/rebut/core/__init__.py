"""Values, errors, text, redaction, processes: what every room may use, and nothing about debates."""
