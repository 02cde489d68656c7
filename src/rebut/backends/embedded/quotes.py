"""The quotes of a prompt («begin …» to «end …»): finding them, and shortening a prompt without leaving one open."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^«(begin|end) ([^»\n]*)»$", re.M)
_TOPIC = "topic "


def shortened(text: str, most: int) -> str:
    """Shorten a text to about `most` characters by leaving out its middle. Quotes that are cut stay closed (C7)."""
    if len(text) <= most:
        return text
    head_end, tail_start = most * 2 // 5, len(text) - most * 3 // 5
    head_end = text.rfind("\n", 0, head_end) + 1 or head_end
    tail_start = text.find("\n", tail_start) + 1 or tail_start
    for fence in _FENCE.finditer(text):  # in a text of long lines, the cut must not split a fence
        head_end = fence.start() if fence.start() < head_end <= fence.end() else head_end
        tail_start = fence.end() + 1 if fence.start() < tail_start <= fence.end() else tail_start
    closing, opening = (_quote_at(text, place) for place in (head_end, tail_start))
    return (
        f"{text[:head_end]}[…]\n"
        + (f"«end {closing}»\n" if closing else "")
        + (f"«begin {opening}»\n[…]\n" if opening else "")
        + text[tail_start:]
    )


def gist(prompt: str, most: int) -> str:
    """The role and the quotes of a prompt, the topic last. The rules of a debate only confuse a very small model.

    A prompt without quotes is shown as it is, shortened if necessary.
    """
    quotes = _quotes(prompt)
    if not quotes:
        return shortened(prompt, most)
    role = prompt.partition("\n\n")[0]
    role = "" if "«" in role else " ".join(role.split())[: most // 4]
    material = "\n\n".join(body for label, body in quotes if not label.startswith(_TOPIC))
    topic = shortened("\n\n".join(body for label, body in quotes if label.startswith(_TOPIC)), most // 3)
    space = most - len(role) - len(topic)
    return "\n\n".join(part for part in (role, shortened(material, space), topic) if part)


def _quotes(text: str) -> list[tuple[str, str]]:
    """The label and tag of each quote, and the whole quote with its fences."""
    found, inside, start = list[tuple[str, str]](), "", 0
    for fence in _FENCE.finditer(text):
        if not inside and fence[1] == "begin":
            inside, start = fence[2], fence.start()
        elif fence[1] == "end" and fence[2] == inside:
            found.append((inside, text[start : fence.end()]))
            inside = ""
    return found


def _quote_at(text: str, place: int) -> str:
    """The label and tag of the quote around a place; empty outside of quotes.

    A fence inside a quote is text: only the fence with the quote's own tag ends it.
    """
    inside = ""
    for fence in _FENCE.finditer(text):
        if fence.start() >= place:
            break
        if not inside and fence[1] == "begin":
            inside = fence[2]
        elif fence[1] == "end" and fence[2] == inside:
            inside = ""
    return inside
