"""A model file that runs in this process."""
