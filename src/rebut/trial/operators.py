"""Operators that plant one defect: each finds the places of a Python file where it applies, and edits one of them.

An edit replaces a piece of the text, so that nothing else of the file changes.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator

from rebut.core.frozen import frozen


@frozen
class Defect:
    """A file with one defect planted."""

    kind: str
    text: str
    """The whole file."""
    first: int
    last: int
    """The lines of the new text where the defect is."""
    was: str
    """The lines before."""
    now: str
    """The lines after; empty if lines were removed."""


@frozen
class SourceEdit:
    """A piece of the text and what replaces it."""

    start: int
    end: int
    text: str
    line: int
    """The line of the syntax that is edited: defects are planted only in lines of the change."""


class Source:
    """A file, its syntax tree and where each line begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.lines = text.splitlines(keepends=True)
        self._offsets = [0]
        for line in self.lines:
            self._offsets.append(self._offsets[-1] + len(line))
        self._statements = [self.span((getattr(one, "decorator_list", None) or [one])[0])[0] for one in self.tree.body]
        self._dumps: dict[int, str] = {}
        self.parents: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    def at(self, line: int, column: int) -> int:
        """The offset in the text of a line and a column. The syntax tree counts columns in bytes."""
        row = self.lines[line - 1] if line <= len(self.lines) else ""
        return self._offsets[line - 1] + len(row.encode()[:column].decode(errors="ignore"))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def is_same(self, text: str, edited: int) -> bool:
        """Whether an edit at this offset left the program as it was. An edit is within one top-level statement, so only
        that statement is compared."""
        new = ast.parse(text).body
        at = bisect_right(self._statements, edited) - 1
        if len(new) != len(self._statements):
            return False
        if at not in self._dumps:
            self._dumps[at] = ast.dump(self.tree.body[at])
        return self._dumps[at] == ast.dump(new[at])

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function that a node is in."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
            above = self.parents.get(above)
        return above

    def replaced(self, node: ast.expr | ast.stmt, text: str) -> SourceEdit:
        return SourceEdit(*self.span(node), text, node.lineno)

    def between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[SourceEdit]:
        """The operator between two expressions, replaced."""
        start, end = self.span(left)[1], self.span(right)[0]
        at = self.text.find(old, start, end)
        if at >= 0:
            yield SourceEdit(at, at + len(old), new, self.text.count("\n", 0, at) + 1)

    def without(self, node: ast.stmt) -> Iterator[SourceEdit]:
        """A statement removed with its lines, if its block has others."""
        above = self.parents[node]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(above, name, None)
            if isinstance(block, list) and node in block and len(block) > 1:
                assert node.end_lineno is not None
                yield SourceEdit(self._offsets[node.lineno - 1], self._offsets[node.end_lineno], "", node.lineno)


Operator = Callable[[Source, ast.AST], Iterator[SourceEdit]]
BOUNDS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
OPPOSITE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
}
TWINS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}
COPIES = ("list", "dict", "set", "deepcopy")
ESCAPES = ("escape", "quote", "quote_plus", "quoteattr")
CLOSERS = ("close", "aclose", "release", "rollback", "shutdown", "cancel", "unlink", "disconnect")


def off_by_one(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in BOUNDS:
            yield from source.between(node.left, node.comparators[0], *BOUNDS[type(op)])
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            yield source.replaced(node, source.of(node.left))
        case ast.Call(func=ast.Name(id="range"), args=[end]) | ast.Call(func=ast.Name(id="range"), args=[_, end]):
            yield source.replaced(end, f"{source.of(end)} - 1")
        case ast.Slice(upper=ast.expr() as upper) if not isinstance(upper, ast.Constant):
            yield source.replaced(upper, f"{source.of(upper)} - 1")
        case ast.Slice(lower=ast.Constant(value=1) as lower):
            yield source.replaced(lower, "0")


def inverted_condition(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    if not isinstance(node, ast.If | ast.While | ast.IfExp):
        return
    test = node.test
    match test:
        case ast.UnaryOp(op=ast.Not()):
            yield source.replaced(test, source.of(test.operand))
        case ast.Compare(ops=[op]) if type(op) in OPPOSITE:
            yield from source.between(test.left, test.comparators[0], *OPPOSITE[type(op)])
        case ast.Name() | ast.Attribute() | ast.Call():
            yield source.replaced(test, f"not {source.of(test)}")


def wrong_operator(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    match node:
        case ast.BoolOp(op=op, values=[left, right]):
            names = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            yield from source.between(left, right, *names)
        case ast.BinOp() if type(node.op) in ARITHMETIC and not _is_text(node):
            if not (isinstance(node.right, ast.Constant) and node.right.value == 1):  # that is off by one
                yield from source.between(node.left, node.right, *ARITHMETIC[type(node.op)])
        case ast.AugAssign(op=ast.Add() | ast.Sub()) if not _is_text(node):
            start, end = source.span(node.target)[1], source.span(node.value)[0]
            old, new = ("+=", "-=") if isinstance(node.op, ast.Add) else ("-=", "+=")
            at = source.text.find(old, start, end)
            yield SourceEdit(at, at + 2, new, node.lineno)
        case ast.Call(func=ast.Name(id=name)) if name in TWINS:
            yield source.replaced(node.func, TWINS[name])


def _is_text(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether the operation joins or formats a text or a list, as far as the syntax shows."""
    parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    texts = ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple
    return any(isinstance(p, texts) or (isinstance(p, ast.Constant) and isinstance(p.value, str)) for p in parts)


def swapped_arguments(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    if not isinstance(node, ast.Call) or len(node.args) < 2 or any(isinstance(a, ast.Starred) for a in node.args):
        return
    one, two = source.of(node.args[0]), source.of(node.args[1])
    plain = ast.Name | ast.Attribute | ast.Subscript
    name = _called(node)
    if one != two and all(isinstance(a, plain) for a in node.args[:2]) and name not in ("min", "max", "isinstance"):
        start, end = source.span(node.args[0])[0], source.span(node.args[1])[1]
        middle = source.text[source.span(node.args[0])[1] : source.span(node.args[1])[0]]
        yield SourceEdit(start, end, f"{two}{middle}{one}", node.args[0].lineno)


def wrong_variable(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    """A parameter in place of another one of the same function with the same annotation."""
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return
    function = source.function(node)
    if function is None or not isinstance(source.parents[node], ast.BinOp | ast.Call | ast.Compare | ast.Subscript):
        return
    if isinstance(above := source.parents[node], ast.Call) and above.func is node:
        return
    known = {
        a.arg: ast.unparse(a.annotation) if a.annotation else "" for a in function.args.args + function.args.kwonlyargs
    }
    mine = known.get(node.id)
    others = [name for name, type in known.items() if name not in (node.id, "self", "cls") and type == mine]
    if node.id not in ("self", "cls") and others:
        yield source.replaced(node, others[0])


def wrong_default(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    values = list[ast.expr]()
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        values = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
    elif isinstance(node, ast.Call) and _called(node) in ("get", "getattr", "pop", "setdefault") and node.args:
        values = node.args[-1:] if len(node.args) > (2 if _called(node) == "getattr" else 1) else []
    for value in values:
        match value:
            case ast.Constant(value=bool() as was):
                yield source.replaced(value, str(not was))
            case ast.Constant(value=int() | float() as number):
                yield source.replaced(value, "0" if number else "1")


def missing_check(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    match node:
        case ast.If(body=[ast.Raise() | ast.Return() | ast.Continue()], orelse=[]):
            yield from source.without(node)


def lost_error(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    match node:
        case ast.ExceptHandler(type=ast.Name(id=name), body=body):
            for statement in body:
                if isinstance(statement, ast.Raise):
                    yield source.replaced(statement, "pass")
            if name not in ("Exception", "BaseException"):
                assert node.type is not None
                yield source.replaced(node.type, "Exception")
        case ast.ExceptHandler(type=ast.Tuple() as caught):
            yield source.replaced(caught, "Exception")


def missing_await(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    if isinstance(node, ast.Await):
        yield source.replaced(node, source.of(node.value))


def not_closed(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    match node:
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)))
            | ast.Expr(value=ast.Await(value=ast.Call(func=ast.Attribute(attr=name))))
        ) if name in CLOSERS:
            yield from source.without(node)
        case ast.Try(body=body, handlers=[], orelse=[], finalbody=[ast.Expr() as last]) if _closes(last):
            yield _dedented(source, node, body, "")
        case ast.With(items=[ast.withitem(optional_vars=ast.Name(id=name)) as item], body=body):
            yield _dedented(source, node, body, f"{name} = {source.of(item.context_expr)}")


def _closes(node: ast.Expr) -> bool:
    value = node.value.value if isinstance(node.value, ast.Await) else node.value
    return isinstance(value, ast.Call) and _called(value) in CLOSERS


def _dedented(source: Source, node: ast.Try | ast.With, body: list[ast.stmt], head: str) -> SourceEdit:
    """A block without the statement around it."""
    assert node.end_lineno is not None and body[-1].end_lineno is not None
    start, end = source.at(node.lineno, 0), source.at(node.end_lineno + 1, 0)
    rows = source.lines[body[0].lineno - 1 : body[-1].end_lineno]
    less = body[0].col_offset - node.col_offset
    kept = [row[less:] if not row[:less].strip() else row for row in rows]
    first = [f"{' ' * node.col_offset}{head}\n"] if head else []
    return SourceEdit(start, end, "".join([*first, *kept]), node.lineno)


def shared_state(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    match node:
        case ast.Call(args=[ast.Name() | ast.Attribute() | ast.Subscript() as inner], keywords=[]) if (
            _called(node) in COPIES
        ):
            yield source.replaced(node, source.of(inner))
        case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[], keywords=[]):
            yield source.replaced(node, source.of(inner))


def unsafe_call(source: Source, node: ast.AST) -> Iterator[SourceEdit]:
    if not isinstance(node, ast.Call) or not node.args:
        return
    name = _called(node)
    if name in ESCAPES:
        yield source.replaced(node, source.of(node.args[0]))
    elif name == "compare_digest" and len(node.args) == 2:
        yield source.replaced(node, f"{source.of(node.args[0])} == {source.of(node.args[1])}")
    elif name == "literal_eval":
        yield source.replaced(node.func, "eval")
    elif name == "safe_load":
        yield source.replaced(node.func, source.of(node.func).replace("safe_load", "unsafe_load"))
    elif name in ("execute", "executemany") and len(node.args) == 2 and (edit := _formatted(source, node)):
        yield edit


def _formatted(source: Source, node: ast.Call) -> SourceEdit | None:
    """A query with its parameters put into the text."""
    query, values = node.args
    if not (isinstance(query, ast.Constant) and isinstance(query.value, str) and isinstance(values, ast.Tuple)):
        return None
    text, parts = source.of(query), [source.of(part) for part in values.elts]
    if text.count("?") != len(parts) or any(mark in text for mark in ("{", "'")) or any('"' in part for part in parts):
        return None
    for part in parts:
        text = text.replace("?", f"'{{{part}}}'", 1)
    return SourceEdit(source.span(query)[0], source.span(values)[1], f"f{text}", node.lineno)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


OPERATORS: dict[str, Operator] = {
    "off by one": off_by_one,
    "inverted condition": inverted_condition,
    "wrong operator": wrong_operator,
    "swapped arguments": swapped_arguments,
    "wrong variable": wrong_variable,
    "wrong default": wrong_default,
    "missing check": missing_check,
    "lost error": lost_error,
    "missing await": missing_await,
    "not closed": not_closed,
    "shared state": shared_state,
    "unsafe call": unsafe_call,
}
"""Kind → the operator that plants it."""


def defects(text: str, within: frozenset[int]) -> list[Defect]:
    """Every defect that can be planted in these lines of a file, in the order of the text; each parses."""
    try:
        source = Source(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = list[tuple[int, str, SourceEdit]]()
    for node in ast.walk(source.tree):
        for kind, operator in OPERATORS.items():
            found += [(edit.start, kind, edit) for edit in operator(source, node) if edit.line in within]
    out = list[Defect]()
    for _, kind, edit in sorted(found, key=lambda one: (one[0], one[1], one[2].text)):
        if planted := _planted(source, kind, edit):
            out.append(planted)
    return out


def _planted(source: Source, kind: str, edit: SourceEdit) -> Defect | None:
    text = source.text[: edit.start] + edit.text + source.text[edit.end :]
    try:
        if source.is_same(text, edit.start):
            return None
    except (SyntaxError, ValueError):
        return None
    old, new = source.lines, text.splitlines(keepends=True)
    head = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    was, now = old[head : len(old) - tail], new[head : len(new) - tail]
    # If lines were only removed, the defect is at the lines around the gap.
    first, last = (head + 1, head + len(now)) if now else (max(1, head), min(len(new), head + 1))
    return Defect(kind, text, first, last, "".join(was), "".join(now))
