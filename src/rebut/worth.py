"""The old place of `Worth` and `fates`, kept for one release: import them from `rebut`."""

from rebut.domain.worth import Worth as Worth, fates as fates
