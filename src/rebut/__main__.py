"""`python -m rebut` is `rebut`."""

from rebut.cli import main

main()
