"""A debate in the browser: frames made from the journal, the page that shows them, its server, and the exported file."""
