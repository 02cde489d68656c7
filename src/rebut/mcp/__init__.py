"""An MCP server for agent hosts: tools, results, the process of each debate, and the entries in the hosts' config."""
