"""What a call costs, from the price table of genai-prices; an unknown price is None, never 0."""

from __future__ import annotations

from rebut.core.types import Usage

# Where our name of a provider is not the table's.
_NAMES = {"xai": "x-ai", "gemini": "google", "moonshot": "moonshotai"}


def price(model: str, usage: Usage, provider: str = "", *, written: int = 0) -> float | None:
    """US dollars for a call that took `usage`; None when the model or its token counts are unknown.

    Without a provider the table picks the one that the model's name points to. `written` of the input tokens were put
    into the provider's cache, which some charge more for.
    """
    if usage.input is None or usage.output is None:
        return None
    cached = min(usage.cached or 0, usage.input)
    return _look_up(model, provider, usage.input, usage.output, cached, min(written, usage.input - cached))


def worst_case(
    model: str, provider: str, input_tokens: int, output_tokens: int, *, writes: bool = False
) -> float | None:
    """The most that a call of this size can cost: every output token used, nothing served from a cache.

    With `writes` all of the input may be put into the cache.
    """
    return _look_up(model, provider, input_tokens, output_tokens, 0, input_tokens if writes else 0)


def _look_up(model: str, provider: str, given: int, made: int, cached: int, written: int) -> float | None:
    # Imported on first use: the table takes a fifth of a second to load, and many runs never need it.
    import genai_prices

    counts = genai_prices.Usage(
        input_tokens=given, output_tokens=made, cache_read_tokens=cached or None, cache_write_tokens=written or None
    )
    try:
        result = genai_prices.calc_price(counts, model, provider_id=_NAMES.get(provider, provider) or None)
    except (LookupError, ValueError):
        return None
    rates = result.model_price
    if rates.input_mtok is None or rates.output_mtok is None:
        # Listed, but not by the token: the sum would leave out what is not listed and so come out too low.
        return None
    return float(result.total_price)
