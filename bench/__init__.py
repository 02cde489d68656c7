"""What rebut costs, beside a floor that is measured in the same run: `python -m bench`."""
