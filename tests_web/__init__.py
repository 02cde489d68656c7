"""The page in a real browser: Debian's chromium, driven by playwright, and axe for what a reader needs."""
