"""The commands: one file each, or one file for a few that belong together."""
