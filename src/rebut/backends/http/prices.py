"""What a call costs, from the price table of genai-prices; an unknown price is None, never 0."""

from __future__ import annotations

from rebut.core.types import Usage

# Provider → its name in the price table, if it has another one there.
_NAMES = {"xai": "x-ai", "gemini": "google", "moonshot": "moonshotai"}


def price(model: str, usage: Usage, provider: str = "", *, written: int = 0) -> float | None:
    """US dollars for a call that used `usage`; None if the model or its token counts are unknown.

    Without a provider, the table chooses one by the model's name. `written` of the input tokens were written to the
    provider's cache, for which some charge more.
    """
    if usage.input is None or usage.output is None:
        return None
    cached = min(usage.cached or 0, usage.input)
    return _look_up(model, provider, usage.input, usage.output, cached, min(written, usage.input - cached))


def worst_case(
    model: str, provider: str, input_tokens: int, output_tokens: int, *, writes: bool = False
) -> float | None:
    """The most that a call of this size can cost: all output tokens used, nothing read from a cache.

    With `writes`, all of the input may be written to the cache.
    """
    return _look_up(model, provider, input_tokens, output_tokens, 0, input_tokens if writes else 0)


def _look_up(model: str, provider: str, given: int, made: int, cached: int, written: int) -> float | None:
    # Imported on first use: the table takes a fifth of a second to load, and many runs do not need it. It is needed
    # before the first call, because the amount that a call may cost is recorded before the call is made.
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
        # Listed, but without a price per token: the sum would be too low.
        return None
    return float(result.total_price)
