"""The old place of `MANY`, kept for one release: import it from `rebut`."""

from rebut.engine.protocol import MANY as MANY
