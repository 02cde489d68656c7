"""Runs the command line: `python -m rebut` does the same as `rebut`."""

from rebut.cli import main

main()
