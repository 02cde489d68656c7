"""The six real tools, driven through rebut against a server of our own: `make test-tools`."""
