"""Text of others in a Markdown document renders as itself: tried with a real renderer over payloads of our own."""

from __future__ import annotations

import html
import itertools
import re

import pytest
from markdown_it import MarkdownIt

from rebut.core.markdown import backticks, inline, tame
from rebut.domain.render import cell
from rebut.protocols.revise.sections import contained

BLOCKS = [
    *("# forged", "###### forged", "#", "forged\n===", "forged\n---", "forged\n=", "forged\n-", "forged\n -  "),
    *(
        "- # forged",
        "* # forged",
        "+ ## forged",
        "1. # forged",
        "1) # forged",
        "- - # forged",
        "- 1. # forged",
        "-\t# forged",
    ),
    *("> quoted", "> # forged", "- > # forged", ">", "```\ncode", "~~~\ncode", "- ```\n  code", "````", "   ```x"),
    *("---", "***", "___", "- - -", "* * *", "_ _ _", "--", "==", "= =", "*", "-", "+", "  ---", "\t---"),
    *("a | b\n--- | ---\nc | d", "| a |\n|---|\n| b |", "a\n|-", "a|b\n-|-", "a\n:-:|:-:", "|"),
    *("<!-- hidden", "<!-- hidden\n\nmore -->", "a <!-- hidden --> b", "- <!-- hidden", "> <!-- x", "<!-->", "<!--->"),
    *(
        "<script>",
        "<script>\nhidden",
        "<pre>\nx",
        "<style>\nx",
        "<textarea>\nx",
        "<? hidden",
        "<?php x ?>",
        "a <?x?> b",
    ),
    *(
        "<![CDATA[ hidden",
        "<!DOCTYPE html>",
        "<div>\nhidden\n</div>",
        "<details><summary>a</summary>b",
        "</div>",
        "<a\nb>",
    ),
    *("<b>bold</b>", "a <img src=x> b", "<svg/onload=x>", "<x-y>", "<https://example.org>", "<a@example.org>", "<B>"),
    *(
        "[a](https://example.org)",
        "![a](https://example.org/x.png)",
        "[a][b]",
        "[a]: https://example.org",
        "[a]:\nx",
        "![a][b]",
    ),
    *(
        "[a\n](x)",
        "[a\nb]: hidden",
        f"[{'x' * 600}](y)",
        f"[{'x' * 600}]: hidden",
        f"[{'x' * 600}[a](y)",
        " \t# forged",
    ),
    *("[^1]: note", "[a]: <x> 'y'", "- [a]: x", "[a\\]](x)", "[[a]](x)", "[a](<x y>)", "[ ] task", "[x] task"),
    *(
        "&lt;script&gt;",
        "&#35; forged",
        "&#x3c;!--",
        "&nbsp;&amp;",
        "&copy;",
        "AT&T; x",
        "\\# kept",
        "a\\",
        "\\\\",
        "\\<b>",
    ),
    *(
        "\\`x\\`",
        "a\\\nb",
        "    # code",
        "\tcode",
        "      deep",
        "- \t\tcode",
        "-      code",
        "1.      code",
        "    - x",
    ),
    *("$$\\phantom{x}$$", "$`\\phantom{x}`$", "$\\color{white}{x}$", "$5 and $6", "${VAR}"),
    *("a\rb", "a\r\n# forged", "a\u2028# forged", "a\x0b# forged", "a\x0c# forged", "a\x85# forged", "a\x1c# forged"),
    *(
        "`code`",
        "``a`b``",
        "`<b>`",
        "`unclosed",
        "**bold**",
        "**unclosed",
        "_a_",
        "~~a~~",
        "a*b*c",
        "2 * 3 * 4",
        "a_b_c",
    ),
    *(
        "plain",
        "two\n\nparagraphs",
        "- a\n- b",
        "1. a\n2. b",
        "a < b and c > d",
        "x[0] = y[1]",
        "f(x)[0](y)",
        "C:\\dir\\#x",
    ),
    *(
        "line one\nline two",
        "trailing  \nbreak",
        "  indented",
        "@user #12",
        "a -- b",
        "!important",
        "#hashtag",
        "1.",
        "2)",
    ),
]
# Behind and before other text, and one after the other.
PAYLOADS = [*BLOCKS, *(f"text\n{p}" for p in BLOCKS), *(f"{p}\n\nmore" for p in BLOCKS)]
PAYLOADS += [f"{a}\n{b}" for a, b in itertools.pairwise(BLOCKS)]

RENDERER = MarkdownIt("gfm-like", {"linkify": False, "html": True})


def tokens(document: str) -> list[tuple[str, str]]:
    return [
        (one.type, one.content)
        for token in RENDERER.parse(document)
        for one in (token, *(token.children or ()))
        if one.type not in ("inline", "softbreak")
    ]


def words(text: str) -> str:
    """What a reader sees of it: letters and digits, without the numbers of lists."""
    return "".join(re.findall(r"[^\W_]+", re.sub(r"(?<![^\s>+*-])\d+[.)](?=\s|$)", "", text)))


def seen(document: str) -> str:
    shown = re.sub(r"<[^>]*>", "", RENDERER.render(document))
    return html.unescape(shown)


FORBIDDEN = ("heading_open", "html_block", "html_inline", "blockquote_open", "table_open", "hr", "fence", "code_block")
FORBIDDEN += ("link_open", "image")


def test_there_are_many_payloads() -> None:
    assert len(PAYLOADS) >= 300


@pytest.mark.parametrize("way", ["block", "item", "heading"])
def test_every_payload_renders_as_itself_and_touches_nothing_around_it(way: str) -> None:  # C14
    for payload in PAYLOADS:
        if way == "block":
            document = f"Before.\n\n{tame(payload)}\n\n# After\n\nEnd.\n"
        elif way == "item":
            document = f"Before.\n\n- {inline(payload)}\n- last\n\n# After\n\nEnd.\n"
        else:
            document = f"Before.\n\n## {inline(payload)}\n\n# After\n\nEnd.\n"
        kinds = [kind for kind, _ in tokens(document)]
        own = 2 if way == "heading" else 1
        assert kinds.count("heading_open") == own, (payload, document)
        others = [kind for kind in kinds if kind in FORBIDDEN and kind != "heading_open"]
        assert not others, (payload, document, others)
        text = seen(document)
        assert words(payload) in words(text), (payload, document, text)
        assert text.rstrip().endswith("End."), (payload, document)


CODE = ["<b>", "a & b", "[a](b)", "\\d+", "C:\\x", "&lt;", "${x}", "x[0] < y[1]", "# no", "a | b", "<!-- x"]


def test_code_within_a_line_is_shown_as_it_is() -> None:  # C14
    for code, (left, right) in itertools.product(
        CODE, [("", ""), ("a ", " b"), ("- ", ""), ("<x> ", " `"), ("\\", "\\")]
    ):
        for ticks in ("`", "``", "```"):
            text = f"{left}{ticks}{code}{ticks}{right}"
            assert ("code_inline", code) in tokens(tame(text)), (text, tame(text), tokens(tame(text)))


def test_code_that_is_not_closed_on_its_line_opens_none() -> None:  # C14
    for text in ("a `b\n<i>`", "`\n`<b>`\n`", "``a`\n<b>``", "- `\n- `<b>`", "a `` b ` c\n` <b> ``", "```x\n<b>\n```"):
        found = [kind for kind, _ in tokens(tame(text))]
        assert not {"html_inline", "html_block", "fence"} & {*found}, (text, tame(text))
        assert words(text) in words(seen(tame(text)))


HIDING = [
    "<!-- gone",
    "<script>",
    "<?x",
    "<style>\n",
    "```",
    "~~~",
    "````\n```",
    "a `",
    "<![CDATA[",
    "<!X",
    "<pre>",
    "- ```",
]
HIDING += [
    "    ```\n<!-- gone",
    "- a\n\n      ```\n<script>",
    "a <!-- b",
    "> ```\n> x",
    "<!-->\n<!-- gone",
    "<div>\n<!-- gone",
]
KEPT = [
    "# A\n\n```html\n<!-- x -->\n```\n\n- `<script>`\n\n[a](b) <b>x</b>",
    "1. a:\n\n    ```py\n    x < 1\n    ```\n2. b",
]


def test_a_document_hides_nothing_below_it_and_keeps_its_markdown() -> None:  # C14
    for payload in HIDING:
        document = f"# Own\n\n| a |\n|---|\n\n{payload}"
        found = [kind for kind, _ in tokens(f"{contained(document)}\n\n# After\n\nEnd.\n")]
        assert found.count("heading_open") == 2 and "table_open" in found, (payload, contained(document))
    assert [contained(kept) for kept in KEPT] == KEPT


def test_code_stays_in_its_block_and_in_its_span() -> None:  # C14
    for code in ("plain", "a `b` c", "``` in a line", "```\n# forged\n```", "`````", "``", "x ```` y ``` z"):
        fence, ticks = backticks(code), backticks(code, 1)
        assert len(fence) >= 3
        assert tokens(f"{fence}text\n{code}\n{fence}\n") == [("fence", f"{code}\n")]
        if "\n" not in code:
            assert ("code_inline", code) in tokens(f"{ticks} {code} {ticks}\n")


def test_every_payload_stays_in_its_cell() -> None:  # C14
    for payload in PAYLOADS:
        document = f"| a | b |\n|---|---|\n| {cell(payload)} | own |\n\n# After\n"
        kinds = [kind for kind, _ in tokens(document)]
        assert kinds.count("td_open") == 2 and kinds.count("heading_open") == 1, (payload, document)
        assert not [k for k in kinds if k in ("html_block", "html_inline", "link_open", "image")], (payload, document)


def test_ordinary_text_is_left_as_it_is() -> None:
    for text in (
        "- a\n- b",
        "**bold** and `code`",
        "x[0] < y",
        "a\n\nb",
        "1. one\n2. two",
        "#hashtag"[1:],
        "a - b = c",
    ):
        assert tame(text) == text
