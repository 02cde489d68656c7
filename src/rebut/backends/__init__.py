"""Everything that can answer a prompt: HTTP APIs, command-line tools, the embedded model, linters, people."""
