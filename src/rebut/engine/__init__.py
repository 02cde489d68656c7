"""Runs a protocol durably: ask, call, run, resume, fork, steer."""
