"""What a model with a small window is shown of a prompt, and how the rest is left out without opening a quote."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^«(begin|end) ([^»\n]*)»$", re.M)
_TOPIC = "topic "


def shortened(text: str, most: int) -> str:
    """Without its middle, when it is too long. Quotes that the cut leaves open or opens are closed again (C7)."""
    if len(text) <= most:
        return text
    to, on = most * 2 // 5, len(text) - most * 3 // 5
    to, on = text.rfind("\n", 0, to) + 1 or to, text.find("\n", on) + 1 or on
    for fence in _FENCE.finditer(text):  # in a text of long lines, half a fence would be none
        to = fence.start() if fence.start() < to <= fence.end() else to
        on = fence.end() + 1 if fence.start() < on <= fence.end() else on
    closing, opening = (_quote_at(text, place) for place in (to, on))
    return (
        f"{text[:to]}[…]\n"
        + (f"«end {closing}»\n" if closing else "")
        + (f"«begin {opening}»\n[…]\n" if opening else "")
        + text[on:]
    )


def gist(prompt: str, most: int) -> str:
    """Who the reader is, and what is quoted, the topic last. Rules of debate only lead a very small model astray.

    A prompt that quotes nothing is kept whole, as far as there is room.
    """
    quotes = _quotes(prompt)
    if not quotes:
        return shortened(prompt, most)
    role = prompt.partition("\n\n")[0]
    role = "" if "«" in role else " ".join(role.split())[: most // 4]
    material = "\n\n".join(body for label, body in quotes if not label.startswith(_TOPIC))
    topic = shortened("\n\n".join(body for label, body in quotes if label.startswith(_TOPIC)), most // 3)
    room = most - len(role) - len(topic)
    return "\n\n".join(part for part in (role, shortened(material, room), topic) if part)


def _quotes(text: str) -> list[tuple[str, str]]:
    """Label with tag, and the whole quote, fences included."""
    found, inside, start = list[tuple[str, str]](), "", 0
    for fence in _FENCE.finditer(text):
        if not inside and fence[1] == "begin":
            inside, start = fence[2], fence.start()
        elif fence[1] == "end" and fence[2] == inside:
            found.append((inside, text[start : fence.end()]))
            inside = ""
    return found


def _quote_at(text: str, place: int) -> str:
    """Label and tag of the quote that a place stands in. Fences inside a quote are words: only its own tag ends it."""
    inside = ""
    for fence in _FENCE.finditer(text):
        if fence.start() >= place:
            break
        if not inside and fence[1] == "begin":
            inside = fence[2]
        elif fence[1] == "end" and fence[2] == inside:
            inside = ""
    return inside


def first_quoted(text: str) -> str:
    """The words of the first quote, without its fences; empty when nothing is quoted."""
    return _quotes(text)[0][1].partition("\n")[2].rpartition("\n")[0] if _quotes(text) else ""


def unquoted(text: str) -> str:
    """What the program itself says in it."""
    for _, quote in _quotes(text):
        text = text.replace(quote, "", 1)
    return text
