"""The shipped protocols: ask, duel, cross, revise, panel. Protocols do not know each other; ask builds on duel."""
