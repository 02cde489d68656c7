"""From config, flags and environment to a checked plan: config files, discovery, seats, connections, doctor."""
