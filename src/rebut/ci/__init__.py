"""What a finished review means for CI: gate, dismissals, SARIF, applying a patch."""
