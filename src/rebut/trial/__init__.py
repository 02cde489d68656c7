"""A trial: how many planted defects a debate finds, beside one model alone, and what is on record about each model."""
