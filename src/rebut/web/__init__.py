"""A debate in the browser: frames of its journal, the page that shows them, its server, and the exported file."""
