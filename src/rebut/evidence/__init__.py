"""Citations: looked up in the workspace, and marked."""
