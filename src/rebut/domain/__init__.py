"""What a debate is, without input or output: ledger, outcome, forms, prompts, limits, review results."""
