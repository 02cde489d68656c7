"""A session as text: terminal, transcript, Markdown export, decision record, comparison. Never writes a journal."""
