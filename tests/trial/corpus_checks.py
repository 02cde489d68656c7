"""Checks of the files that come with the trial: each passes on a file, and fails on every defect that is planted in it.

A check gets the module. It is named after the file: `billing_invoice` checks `billing/invoice.py`.
"""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import tempfile
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

raises = pytest.raises


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def billing_invoice(m: Any) -> None:
    def made(*lines: tuple[int, int], **more: Any) -> Any:
        invoice = m.Invoice("7", "Ada", date(2026, 1, 1), **more)
        for quantity, cents in lines:
            invoice.add("a", quantity, cents)
        return invoice

    assert [m.discount_percent(made((1, n))) for n in (99_999, 100_000, 250_000, 500_000)] == [0, 5, 8, 12]
    assert [m.discount_percent(made((1, n)), True) for n in (99_999, 100_000, 500_000)] == [0, 7, 14]
    assert m.share_of_discount(1, 1, 3) == 0 and m.share_of_discount(2, 1, 3) == 1 and m.share_of_discount(1, 1, 2) == 1
    assert m.share_of_discount(5, 3, 0) == 0 and m.share_of_discount(100, 30, 1000) == 3
    one = made((2, 50_000), (1, 20_000))
    assert m.tax_cents(one) == 22_800 and m.tax_cents(one, 6_000) == 19_000 - 950 + 3_800 - 190
    assert m.total_cents(one) == 120_000 - 6_000 + 21_660 and m.total_cents(one, True) == 111_600 + 21_204
    assert m.total_cents(made((1, 1000))) == 1190 and m.total_cents(made()) == 0
    bill = made((1, 1000))
    assert m.pay(bill, 190) == 1000
    with raises(ValueError, match="positive"):
        m.pay(bill, 0)
    with raises(ValueError, match=r"1001 is more than the open amount 1000"):
        m.pay(bill, 1001)
    assert bill.paid_cents == 190
    assert not m.is_overdue(bill, date(2026, 1, 31)) and m.is_overdue(bill, date(2026, 2, 1))
    assert m.pay(bill, 1000) == 0 and not m.is_overdue(bill, date(2027, 1, 1))
    assert m.is_overdue(made((1, 100), terms_days=5), date(2026, 1, 7))
    assert not m.is_overdue(made((1, 100), terms_days=5), date(2026, 1, 6))


def billing_proration(m: Any) -> None:
    period = m.period_of(date(2026, 4, 1))
    assert period.days == 30
    assert period.left(date(2026, 4, 30)) == 1 and period.left(date(2026, 5, 1)) == 0
    assert period.left(date(2026, 6, 1)) == 0 and period.left(date(2026, 3, 1)) == 30
    small, large = m.Plan("small", 3000), m.Plan("large", 6001, 2)
    assert [m.monthly(large, n) for n in (1, 2, 3, 4)] == [6001, 6001, 9001, 12002]
    assert m.monthly(small, 2) == 4500
    day = date(2026, 4, 16)
    assert m.prorated(3000, period, day) == 1500 and m.prorated(101, period, day) == 50
    assert m.refund(small, period, day) == 1500 and m.refund(small, period, day, 3) == 3000
    assert m.refund(small, period, day, 1, 1499) == 1 and m.refund(small, period, day, 1, 1501) == 0
    assert m.switch(small, large, period, day) == 3000 - 1500 and m.switch(large, small, period, day) == -1500
    assert m.switch(small, large, period, day, 3) == 4500 - 3000
    assert m.switch(small, large, period, period.start) == 3001
    for wrong in (period.end, date(2026, 3, 31)):
        with raises(ValueError, match="not in the period"):
            m.switch(small, large, period, wrong)
    assert m.add_seats(small, period, day, 1, 2) == 1500 and m.add_seats(large, period, day, 1, 1) == 0
    assert m.add_seats(small, period, day, 1, 1) == 750
    with raises(ValueError, match="at least one"):
        m.add_seats(small, period, day, 1, 0)


def billing_accounts(m: Any) -> None:
    book = m.Ledger({"b": 50})
    book.deposit("a", 100)
    assert book.available("a") == 100 and book.available("b") == 50 and book.available("c") == 0
    first = book.transfer("a", "b", 100, "rent")
    assert (book.balance("a"), book.balance("b")) == (0, 100) and first == 2
    for source, cents in (("a", 1), ("b", 151), ("b", 0), ("b", -5)):
        with raises(m.Refused):
            book.transfer(source, "c", cents)
    assert book.transfer("b", "c", 150) == 3 and book.balance("b") == -50
    assert book.transfer("c", "a", 1) == 4
    with raises(m.Refused, match="no transfer 99"):
        book.reverse(99)
    book.deposit("b", 200)
    again = book.reverse(first)
    assert (book.balance("a"), book.balance("b")) == (101, 50) and again == 6
    assert [e.memo for e in book.entries("a")][-1] == "reversal of 2"
    book.freeze("a")
    with raises(m.Refused, match="frozen"):
        book.transfer("a", "b", 1)
    assert book.transfer("c", "a", 1) == 7
    every = book.entries(None)
    assert len(every) == 12 and [e.account for e in book.entries("c")] == ["c", "c", "c"]
    every.clear()
    assert len(book.entries(None)) == 12


def billing_exchange(m: Any) -> None:
    clock = Clock()
    x = m.Exchange(clock, max_age=100)
    x.publish("USD", "EUR", Decimal("0.5"))
    x.publish("EUR", "GBP", Decimal("0.8"))
    assert x.rate("USD", "USD") == 1 and x.rate("USD", "EUR") == Decimal("0.5") and x.rate("EUR", "USD") == 2
    assert x.rate("USD", "GBP") == Decimal("0.4") and x.rate("GBP", "USD") == Decimal("2.5")
    for pair in (("USD", "YEN"), ("YEN", "USD"), ("EUR", "YEN"), ("YEN", "GBP")):
        with raises(m.NoRate):
            x.rate(*pair)
    assert x.convert(Decimal("10"), "USD", "EUR") == Decimal("5.00")
    assert x.convert(Decimal("10"), "USD", "EUR", 10) == Decimal("4.50")
    assert x.convert(Decimal("0"), "USD", "EUR") == 0
    with raises(ValueError, match="negative"):
        x.convert(Decimal("-1"), "USD", "EUR")
    clock.now += 100
    assert x.rate("USD", "EUR") == Decimal("0.5") and x.rate("EUR", "USD") == 2
    clock.now += 1
    x.publish("GBP", "USD", Decimal("4"))
    for pair in (("USD", "EUR"), ("EUR", "USD"), ("EUR", "GBP")):
        with raises(m.NoRate):
            x.rate(*pair)
    assert x.rate("USD", "GBP") == Decimal("0.25")
    x.publish("EUR", "USD", Decimal("8"))
    assert x.rate("USD", "EUR") == Decimal("0.125") and x.rate("EUR", "USD") == 8
    other = m.Exchange(clock, hub="USD")
    other.publish("EUR", "USD", Decimal("2"))
    other.publish("USD", "GBP", Decimal("3"))
    assert other.rate("EUR", "GBP") == 6


def web_router(m: Any) -> None:
    assert m.split("/a/b/?x=/c") == ("a", "b") and m.split("/") == () and m.split("") == ()
    assert m.bind(("a", "<int:n>"), ("a", "7")) == {"n": 7} and m.bind(("a", "<int:n>"), ("a", "x")) is None
    assert m.bind(("<str:n>",), ("x",)) == {"n": "x"} and m.bind(("<n>",), ("7",)) == {"n": "7"}
    assert m.bind(("a",), ("b",)) is None and m.bind(("a",), ("a", "b")) is None and m.bind(("a", "b"), ("a",)) is None
    assert m.bind(("f", "*"), ("f", "x", "y")) == {"rest": "x/y"} and m.bind(("f", "*"), ("f",)) == {"rest": ""}
    assert m.bind(("f", "*"), ("g", "x")) is None and m.bind(("f", "*"), ()) is None and m.bind((), ()) == {}
    assert m.bind(("a", "b", "*"), ("a",)) is None
    r = m.Router("/v1/")
    r.add("get", "/users/<int:id>", "show")
    r.add("DELETE", "/users/<int:id>", "drop")
    r.add("POST", "/users", "make")
    r.add("GET", "/users/*", "rest")
    r.add("GET", "/twice", "one")
    r.add("GET", "/twice", "two")
    assert r.find("GET", "/v1/users/7") == m.Match("show", {"id": 7})
    assert r.find("head", "/v1/users/7").handler == "show" and r.find("get", "/v1/users/x").handler == "rest"
    assert r.find("delete", "/v1/users/7").handler == "drop"
    assert r.find("PUT", "/v1/users/7") == m.Match(None, {}, 405, ("DELETE", "GET"))
    assert r.find("HEAD", "/v1/users").handler == "rest" and r.find("PUT", "/v1/twice").allowed == ("GET",)
    assert r.find("GET", "/v1/none") == m.Match(None, {}, 404) and r.find("PATCH", "/v1/users").allowed == (
        "GET",
        "POST",
    )


def web_cookies(m: Any) -> None:
    clock = Clock()
    old, new = m.Signer("old"), m.Signer("new", "old")
    assert new.check("x", new.sign("x")) and new.check("x", old.sign("x")) and not old.check("x", new.sign("x"))
    assert not new.check("x", old.sign("y")) and new.is_current("x", new.sign("x"))
    assert not new.is_current("x", old.sign("x")) and "compare_digest" in inspect.getsource(m.Signer.check)
    assert "compare_digest" in inspect.getsource(m.Signer.is_current)
    s = m.Sessions(new, clock, max_age=100)
    cookie = s.dump({"user": 7})
    assert s.load(cookie) == {"user": 7} and s.dump({"user": 7}) == cookie
    assert s._payload(cookie)["at"] == 1000
    body, _, signature = cookie.partition(".")
    for bad in (body, f"{cookie}.x", f"{body}x.{signature}", f"{body}.{signature}x", ""):
        with raises(m.BadCookie):
            s.load(bad)
    wrong = m._encode(b"no json")
    with raises(m.BadCookie, match="cannot be read"):
        s.load(f"{wrong}.{new.sign(wrong)}")
    assert s.renewed(cookie, 50) == cookie
    clock.now += 50
    assert s.renewed(cookie, 51) == cookie
    later = s.renewed(cookie, 50)
    assert later != cookie and s.load(later) == {"user": 7}
    clock.now += 50
    assert s.load(cookie) == {"user": 7}
    clock.now += 1
    with raises(m.BadCookie, match="expired"):
        s.load(cookie)
    clock.now = 1000.0
    theirs = m.Sessions(old, clock, max_age=100).dump({"user": 7})
    assert s.renewed(theirs, 50) == cookie
    assert s.renewed(cookie) == cookie
    clock.now = 5000.0
    long = m.Sessions(new, clock, max_age=10000)
    assert long.renewed(cookie) != cookie
    clock.now = 4599.0
    assert long.renewed(cookie) == cookie
    lenient = m.Sessions(old, clock)
    text = lenient.dump({})
    clock.now += 1209600
    assert lenient.load(text) == {}


def web_listing(m: Any) -> None:
    rows = list(range(45))
    assert m.page_of(rows, 1) == m.Page(tuple(range(20)), 1, 3, 45)
    assert m.page_of(rows, 3).rows == tuple(range(40, 45)) and m.page_of(rows, 9).number == 3
    assert m.page_of(rows, 0).number == 1 and m.page_of(rows, 2, 20, 5) == m.Page(tuple(range(20, 45)), 2, 2, 45)
    assert m.page_of(rows, 2, 20, 4).pages == 3 and m.page_of([], 1) == m.Page((), 1, 1, 0)
    assert m.page_of(rows[:40], 2).pages == 2 and m.page_of(rows[:3], 1, 1, 5).rows == (0, 1, 2)
    assert m.page_of([1, 2], 2, 1).rows == (2,)
    with raises(ValueError, match="at least one"):
        m.page_of(rows, 1, 0)
    assert m.window(5, 10) == [1, None, 3, 4, 5, 6, 7, None, 10] and m.window(1, 1) == [1]
    assert m.window(1, 10) == [1, 2, 3, None, 10] and m.window(10, 10) == [1, None, 8, 9, 10]
    assert m.window(3, 5) == [1, 2, 3, 4, 5] and m.window(4, 9, 1) == [1, None, 3, 4, 5, None, 9]
    made = m.links(m.page_of(list(range(200)), 5, 10), "/x", 'a"&b')
    assert made.startswith('<a href="/x?page=4&amp;q=a%22%26b">previous</a> <a href="/x?page=1&amp;q=a%22%26b">1</a> …')
    assert (
        "<b>5</b>" in made and "next</a>" in made and 'page=6&amp;q=a%22%26b">next' in made and made.count("<b>") == 1
    )
    single = m.links(m.page_of([1], 1), "/x")
    assert single == "<b>1</b>" and "previous" not in m.links(m.page_of(rows, 1), "/x")
    assert "next" not in m.links(m.page_of(rows, 3), "/x") and "previous" in m.links(m.page_of(rows, 3), "/x")
    assert m.headline(m.page_of(rows, 1), "<b>") == "<h2>45 results for &lt;b&gt;</h2>"
    assert m.headline(m.page_of(rows, 1)) == "<h2>45 results</h2>"
    odd = m.links(m.page_of(rows, 2), '/"')
    assert '/"' not in odd.replace('href="', "").replace('">', "") and odd.count("&quot;") == 4


def web_limits(m: Any) -> None:
    clock = Clock()
    for rate, burst in ((0, 5), (-1, 5), (1, 0)):
        with raises(ValueError, match="needs"):
            m.Limiter(clock, rate, burst)
    m.Limiter(clock, 1, 1)
    one = m.Limiter(clock, 2, 4)
    assert one.allow("a") == m.Decision(True, 0.0, 3) and one.allow("a", 3) == m.Decision(True, 0.0, 0)
    assert one.allow("a") == m.Decision(False, 0.5) and one.allow("a", 2) == m.Decision(False, 1.0)
    assert one.allow("a") == m.Decision(False, 60.0)
    clock.now += 59
    assert one.allow("a") == m.Decision(False, 1.0)
    clock.now += 1
    assert one.allow("a", 4) == m.Decision(True, 0.0, 0)
    assert one.allow("a").retry_after == 0.5 and one.allow("a").retry_after == 0.5
    clock.now += 1
    assert one.allow("a").passed  # the count of refusals begins again
    one.allow("a")
    assert not one.allow("a").passed and one.allow("a").retry_after == 0.5 and one.allow("a").retry_after == 60.0
    assert one.allow("b", 4).passed
    for cost in (5, 9):
        with raises(ValueError, match="full bucket"):
            one.allow("b", cost)
    strict = m.Limiter(clock, 1, 1, patience=1, penalty=10)
    assert strict.allow("a").passed and strict.allow("a") == m.Decision(False, 10)
    lenient = m.Limiter(clock, 1, 1)
    lenient.allow("x")
    clock.now += 599
    assert lenient.prune() == 0 and len(lenient) == 1
    clock.now += 1
    assert lenient.prune() == 1 and len(lenient) == 0
    strict.allow("c")
    strict.allow("c")
    strict.allow("d")
    assert strict.prune(0) == 2 and len(strict) == 1
    clock.now += 10
    assert strict.prune(10) == 1
    assert one.allow("e").remaining == 3 and one.allow("e").remaining == 2


def data_cleaning(m: Any) -> None:
    n = m.Column("n", int, True, 1, 10)
    assert m.value_of(n, " 1 ") == 1 and m.value_of(n, "10") == 10
    for text, why in (("0", "below 1"), ("11", "above 10"), ("", "is empty"), ("x", "invalid literal")):
        with raises(m.BadRow, match=why):
            m.value_of(n, text)
    assert m.value_of(m.Column("n", int, False), "") is None and m.value_of(m.Column("n", int), "-5") == -5

    def strange(text: str) -> int:
        raise KeyError(text)

    with raises(KeyError):
        m.value_of(m.Column("n", strange), "x")
    columns = (m.Column("id", int), m.Column("name"))
    rows = m.read("id,name\n1,a\n2,b\n1,c\nx,d\n3,a\n")
    report = m.clean(rows, columns, ("id",))
    assert [row["name"] for row in report.rows] == ["a", "b", "a"] and [at for at, _ in report.errors] == [3, 4]
    assert "id occurs before" in report.errors[0][1] and len(m.clean(rows, columns).rows) == 4
    assert len(m.clean(rows, columns, ("name",)).rows) == 3
    wrong = m.read("id,name\n" + "x,a\n" * 150)
    assert len(m.clean(wrong, columns).errors) == 101 and m.clean(wrong, columns).errors[-1][0] == 101
    few = m.clean(wrong, columns, (), 2)
    assert [at for at, _ in few.errors] == [1, 2, 3] and "too many" in few.errors[2][1]


def data_intervals(m: Any) -> None:
    def iv(*pairs: tuple[int, int]) -> list[Any]:
        return [m.Interval(*pair) for pair in pairs]

    assert m.merged(iv((5, 7), (1, 3), (3, 4))) == iv((1, 4), (5, 7)) and m.merged([]) == []
    assert m.merged(iv((1, 9), (2, 3))) == iv((1, 9)) and m.merged(iv((1, 3), (5, 7)), 2) == iv((1, 7))
    assert m.merged(iv((1, 3), (5, 7)), 1) == iv((1, 3), (5, 7))
    assert m.without(iv((0, 10)), iv((2, 3), (5, 7))) == iv((0, 2), (3, 5), (7, 10))
    assert m.without(iv((0, 10)), iv((0, 3), (8, 12))) == iv((3, 8)) and m.without(iv((0, 5)), iv((0, 5))) == []
    assert m.without(iv((0, 5), (10, 15)), iv((4, 11))) == iv((0, 4), (11, 15))
    assert m.without(iv((0, 5)), iv((7, 9))) == iv((0, 5)) and m.without(iv((0, 5)), []) == iv((0, 5))
    assert m.without(iv((0, 9)), iv((1, 2), (20, 30))) == iv((0, 1), (2, 9))
    assert m.first_free(iv((0, 3), (5, 6)), 2, 0, 10) == 3 and m.first_free(iv((0, 3), (5, 6)), 3, 0, 10) == 6
    assert m.first_free(iv((0, 9)), 2, 0, 10) is None and m.first_free([], 10, 0, 10) == 0
    assert m.first_free([], 11, 0, 10) is None and m.first_free(iv((1, 2)), 9, 1, 10) is None
    c = m.Calendar()
    assert c.book(10, 20) and c.book(20, 30) and c.book(5, 10) and c.book(40, 50)
    for wrong in ((19, 21), (1, 6), (10, 11), (29, 40), (39, 41), (49, 60), (0, 99), (12, 13)):
        assert not c.book(*wrong), wrong
    assert c.book(30, 40) and c.book(50, 51) and c.book(1, 2)
    got = c.bookings()
    assert got == sorted(got) and len(got) == 7
    got.clear()
    assert len(c.bookings()) == 7 and c.busy() == 47


def data_statistics(m: Any) -> None:
    one, two = m.Running(), m.Running()
    for value in (2.0, 4.0, 9.0):
        one.add(value)
    assert (one.count, one.mean, one.variance, one.least, one.most) == (3, 5.0, 13.0, 2.0, 9.0)
    for value in (float("nan"), float("inf")):
        with raises(ValueError, match="finite"):
            one.add(value)
    assert one.count == 3
    for value in (1.0, 3.0):
        two.add(value)
    both = one.joined(two)
    assert both.count == 5 and abs(both.mean - 3.8) < 1e-9 and abs(both.variance - 9.7) < 1e-9
    assert (both.least, both.most) == (1.0, 9.0)
    assert one.joined(m.Running()) is one and m.Running().joined(one) is one
    other = two.joined(one)
    assert (other.least, other.most) == (1.0, 9.0) and abs(other.variance - 9.7) < 1e-9
    assert m.percentile([3, 1, 2], 0.5) == 2 and m.percentile([1, 2], 0.25) == 1.25 and m.percentile([4, 8], 1) == 8
    assert m.percentile([4, 8], 0) == 4 and m.percentile([7], 0.9) == 7 and m.percentile([0, 10, 20], 0.75) == 15
    for share in (-0.1, 1.1):
        with raises(ValueError, match="between"):
            m.percentile([1], share)
    with raises(ValueError, match="no values"):
        m.percentile([], 0.5)


def data_settings(m: Any) -> None:
    with raises(m.BadSettings, match="line 3: a.x is set twice"):
        m.parse("[a]\nx = 1\nx = 2\n")
    assert m.parse("x = 1\n[a]\nx = 2\n") == {"x": "1", "a.x": "2"}
    assert [m.value_of(t) for t in ("yes", "On", "no", "OFF", "7", "[1, 2]", "some text", "1.5")] == (
        [True, True, False, False, 7, [1, 2], "some text", 1.5]
    )
    assert m.value_of("__import__('os').getcwd()") == "__import__('os').getcwd()"
    with raises(TypeError):
        m.value_of("{[]: 1}")
    mine, given = {"a": "1"}, {"b": "2"}
    s = m.Settings(mine, given)
    mine["a"], given["b"] = "9", "9"
    assert (s.get("a"), s.get("b")) == (1, 2)
    with raises(KeyError):
        s.get("c")
    assert s.get("c", 5) == 5 and m.Settings({}, strict=False).get("c") is None
    r = m.Settings({"x": "${y}/1", "y": "${z}", "l": "${l}"}, {"z": "top", "y": "other"})
    assert r.get("x") == "top/1"
    with raises(m.BadSettings, match="refers to itself"):
        r.get("l")
    chain = {f"k{'abcdefghij'[n]}": f"${{k{'abcdefghij'[n + 1]}}}" for n in range(9)}
    deep = m.Settings({**chain, "kj": "end"})
    assert deep.get("kb") == "end"
    with raises(m.BadSettings):
        deep.get("ka")
    f = m.Settings({"on": "yes", "off": "no", "n": "3"}, {"off": "no", "n": "4", "d": "1"}, False)
    assert f.flag("on") is True and f.flag("off") is False and f.flag("none") is False and f.flag("none", True) is True
    with raises(m.BadSettings, match="yes or no"):
        f.flag("n")
    assert f.changed() == ["n", "on"]


def jobs_pool(m: Any) -> None:
    with raises(ValueError, match="needs a worker"):
        m.Pool(0)
    m.Pool(1)
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    def failing(times: int, kind: type[Exception] = RuntimeError) -> Any:
        left = [times]

        async def work() -> str:
            await asyncio.sleep(0)
            left[0] -= 1
            if left[0] >= 0:
                raise kind("no")
            return "ok"

        return work

    async def run() -> Any:
        pool = m.Pool(2, pause=1.0, sleep=sleep)
        pool.submit("a", failing(0))
        pool.submit("b", failing(2))
        pool.submit("c", failing(9))
        pool.submit("d", failing(9, m.Fatal))
        with raises(ValueError, match="already"):
            pool.submit("a", failing(0))
        return await pool.run()

    done = asyncio.run(run())
    assert done.results == {"a": "ok", "b": "ok"}
    assert done.failures == {"c": "no after 3 tries", "d": "fatal: no"}
    assert sorted(pauses) == [1.0, 1.0, 2.0, 2.0]

    async def counted() -> tuple[int, Any]:
        now = [0, 0]

        async def work() -> None:
            now[0] += 1
            now[1] = max(now)
            await asyncio.sleep(0)
            now[0] -= 1

        pool = m.Pool(3, sleep=sleep)
        for n in range(6):
            pool.submit(n, work)
        await pool.run()
        return now[1], pool.done

    most, end = asyncio.run(counted())
    assert most == 3 and len(end.results) == 6

    async def once() -> Any:
        pool = m.Pool(1, 1, sleep=sleep)
        pool.submit("x", failing(1))
        return await pool.run()

    pauses.clear()
    assert asyncio.run(once()).failures == {"x": "no after 1 tries"} and not pauses

    async def plain() -> Any:
        pool = m.Pool(1)
        pool.submit("x", failing(1))
        return await asyncio.wait_for(pool.run(), 0.5)

    assert asyncio.run(plain()).results == {"x": "ok"}


def jobs_schedule(m: Any) -> None:
    clock = Clock()
    s = m.Schedule(clock)
    ran: list[str] = []
    for seconds in (0, -1):
        with raises(ValueError, match="positive"):
            s.every("x", ran.clear, seconds)
    s.every("never", lambda: ran.append("never"), 1, 0)
    assert s.names() == []
    s.every("a", lambda: ran.append("a"), 10, 2)
    s.every("b", lambda: ran.append("b"), 10, at_once=True)
    assert s.run_due() == 1 and ran == ["b"] and s.next_due() == 1010
    clock.now += 10
    assert s.run_due() == 2 and ran == ["b", "a", "b"]
    clock.now += 35
    assert s.run_due() == 2 and s.names() == ["b"] and s.next_due() == 1050
    clock.now = 1050.0
    assert s.run_due() == 1 and s.next_due() == 1060
    s.cancel("b")
    clock.now = 1060.0
    assert s.run_due() == 0 and s.next_due() is None

    def fails() -> None:
        raise RuntimeError("broken")

    s.every("f", fails, 5, 2)
    s.once("g", lambda: ran.append("g"), 5)
    clock.now += 5
    assert s.run_due() == 1 and s.log == [("f", "broken")] and ran[-1] == "g"
    clock.now += 5
    s.run_due()
    assert len(s.log) == 2 and s.names() == []

    def stops() -> None:
        raise KeyboardInterrupt

    s.once("h", stops, 0)
    with raises(KeyboardInterrupt):
        s.run_due()
    s.every("k", lambda: ran.append("k"), 1, 1)
    clock.now += 3
    assert s.run_due() == 1 and s.names() == []
    s.every("l", lambda: ran.append("l"), 1, 3)
    for _ in range(5):
        clock.now += 1
        s.run_due()
    assert ran.count("l") == 3


def jobs_batches(m: Any) -> None:
    batches: list[list[Any]] = []

    async def send(items: list[Any]) -> list[Any]:
        batches.append(items)
        await asyncio.sleep(0)
        if "bad" in items:
            raise RuntimeError("refused")
        return [str(item) for item in items if item != "short"]

    async def run() -> None:
        c = m.Collector(send, 3)
        assert await m.ask_all(c, [1, 2, 1]) == ["1", "2", "1"] and batches == [[1, 2]] and c.sent == 1
        full = [asyncio.ensure_future(c.ask(n)) for n in (3, 4, 5)]
        assert await asyncio.wait_for(asyncio.gather(*full), 0.5) == ["3", "4", "5"]
        batches.clear()
        many = [asyncio.ensure_future(c.ask(n)) for n in range(5)]
        await asyncio.sleep(0)
        await c.flush()
        assert await asyncio.wait_for(asyncio.gather(*many), 0.5) == list("01234") and batches == [[0, 1, 2], [3, 4]]
        assert await m.ask_all(c, [1]) == ["1"] and batches[-1] == [1]
        for wrong, kind in (("bad", RuntimeError), ("short", ValueError)):
            tasks = [asyncio.ensure_future(c.ask(item)) for item in (wrong, 7)]
            await asyncio.sleep(0)
            before = c.sent
            await c.flush()
            for task in tasks:
                with raises(kind):
                    await asyncio.wait_for(task, 0.5)
            assert c.sent == before
            assert await m.ask_all(c, [7]) == ["7"]
        small = m.Collector(send, 10, 2)
        held = [asyncio.ensure_future(small.ask(n)) for n in (1, 2)]
        await asyncio.sleep(0)
        with raises(m.Closed, match="too many"):
            await asyncio.wait_for(small.ask(3), 0.5)
        await small.close()
        assert [await asyncio.wait_for(task, 0.5) for task in held] == ["1", "2"] and small.pending() == 0
        with raises(m.Closed, match="closed"):
            await asyncio.wait_for(small.ask(1), 0.5)
        batches.clear()
        ten = m.Collector(send)
        waiting = [asyncio.ensure_future(ten.ask(n)) for n in range(9)]
        await asyncio.sleep(0)
        assert not batches and ten.pending() == 9
        last = asyncio.ensure_future(ten.ask(9))
        await asyncio.wait_for(asyncio.gather(*waiting, last), 0.5)
        assert len(batches) == 1
        batches.clear()
        large = m.Collector(send, 2000)
        tasks = [asyncio.ensure_future(large.ask(n)) for n in range(1000)]
        await asyncio.sleep(0)
        assert large.pending() == 1000
        with raises(m.Closed):
            await asyncio.wait_for(large.ask("more"), 0.5)
        await large.close()
        await asyncio.gather(*tasks)

    asyncio.run(run())


def jobs_leases(m: Any) -> None:
    clock = Clock()
    all_ = m.Leases(clock, 30)
    one = all_.take("k", "a")
    assert (one.key, one.holder, one.until, one.epoch) == ("k", "a", 1030, 1) and all_.take("k", "b") is None
    again = all_.take("k", "a")
    assert again.epoch == 2 and all_.steals == 0
    with raises(m.Lost):
        all_.renew(one)
    clock.now += 10
    all_.renew(again)
    assert again.until == 1040
    all_.renew(again, 1)
    assert again.until == 1040
    all_.renew(again, 100)
    assert again.until == 1110 and all_.holder("k") == "a"
    again.until = 9999
    clock.now = 1110.0
    all_.renew(again)
    assert again.until == 1140
    clock.now = 1141.0
    with raises(m.Lost, match="expired"):
        all_.renew(again)
    assert all_.holder("k") is None and all_.expired() == ["k"]
    theirs = all_.take("k", "b", 5)
    assert theirs.until == 1146 and theirs.epoch == 3 and all_.steals == 1
    assert all_.release(again) is False and all_.holder("k") == "b"
    clock.now = 1146.0
    assert all_.expired() == ["k"] and all_.take("k", "c").epoch == 4
    mine = all_.take("l", "b")
    assert all_.release(mine) is True and all_.holder("l") is None and all_.steals == 2
    with raises(m.Lost):
        all_.renew(m.Lease("none", "x", 0, 1))
    clock.now += 1000
    assert all_.expired() == ["l", "k"]

    class Broken(m.Leases):
        def _current(self, lease: Any) -> Any:
            raise KeyError(lease.key)

    with raises(KeyError):
        Broken(clock).release(mine)


def storage_cache(m: Any) -> None:
    clock = Clock()
    c = m.Cache(clock, most=3, ttl=10)
    for key in "abc":
        c.put(key, key.upper())
    assert c.get("a") == "A" and c.weight() == 3
    c.put("d", "D")
    assert c.keys() == ["c", "a", "d"] and c.counts.evicted == 1 and c.weight() == 3
    c.put("e", "E", 2)
    assert c.keys() == ["d", "e"] and c.weight() == 3 and c.counts.evicted == 3
    c.put("e", "E2")
    assert c.weight() == 2 and c.get("e") == "E2"
    with raises(ValueError, match="heavier"):
        c.put("x", "X", 4)
    assert len(c) == 2
    c.put("f", "F", 3)
    assert c.keys() == ["f"] and c.drop("f") is True and c.drop("f") is False and c.weight() == 0
    c.put("g", 0, ttl=5)
    c.put("h", 0, ttl=0)
    assert c.get("h", "none") == "none" and c.get("h") is None
    clock.now += 4
    assert c.get("g") == 0
    clock.now += 1
    misses, hits = c.counts.misses, c.counts.hits
    assert c.get("g") is None and c.counts.misses == misses + 1 and c.counts.hits == hits
    assert "g" not in list(c.keys()) and c.weight() == 0
    c.put("i", 1)
    c.put("j", 2, ttl=3)
    c.put("k", 3, ttl=4)
    clock.now += 3
    assert c.sweep() == 1 and c.keys() == ["i", "k"] and c.weight() == 2
    clock.now += 6
    assert c.get("i") == 1
    assert c.sweep() == 1
    clock.now += 1
    assert c.get("i") is None
    assert c.get("i", 7) == 7


def storage_records(m: Any) -> None:
    opened: list[Any] = []

    def open_file(path: str, mode: str) -> Any:
        file = open(path, mode)  # noqa: PTH123, SIM115
        opened.append(file)
        return file

    def closed() -> bool:
        return all(file.closed for file in opened)

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "log")
        log = m.Log(path, open_file)
        try:
            assert log.append(b"one") == [0] and closed()
            assert log.append(b"two!", b"") == [11, 23] and closed() and log.size() == 31
            assert [log.read(at) for at in (0, 11, 23)] == [b"one", b"two!", b""] and closed()
            assert log.read(31) is None and log.records() == [b"one", b"two!", b""] and closed()
            assert log.records(2) == [b"one", b"two!"] and log.records(1) == [b"one"] and closed()
            data = Path(path).read_bytes()
            Path(path).write_bytes(data + b"\0\0\0")
            with raises(m.Damaged, match="header"):
                log.read(31)
            assert closed() and len(log.records()) == 3 and m.repair(log) == 3
            Path(path).write_bytes(data[:-1])
            with raises(m.Damaged, match="header"):
                log.read(23)
            Path(path).write_bytes(data[:22])
            with raises(m.Damaged, match="record is cut off"):
                log.read(11)
            assert log.records() == [b"one"] and closed()
            Path(path).write_bytes(data[:8] + b"onE" + data[11:])
            with raises(m.Damaged, match="checksum"):
                log.read(0)
            assert log.records() == [] and closed()

            def strange(file: Any) -> None:
                raise OSError("gone")

            log._next = strange
            with raises(OSError, match="gone"):
                log.records()
            assert closed()

            class Full:
                closed = False

                def tell(self) -> int:
                    return 0

                def write(self, data: bytes) -> None:
                    raise OSError("full")

                def close(self) -> None:
                    self.closed = True

            full = Full()
            with raises(OSError, match="full"):
                m.Log(path, lambda *_: full).append(b"x")
            assert full.closed
        finally:
            for file in opened:
                file.close()


def storage_contacts(m: Any) -> None:
    c = m.Contacts()
    try:
        with raises(ValueError, match="no @"):
            c.add("nobody", "N")
        ann = c.add("ann@x", "Ann", "Rome", 5)
        bob = c.add("bob@x", "Bob's", "Rome", 7)
        eve = c.add("eve@x", "Eve")
        assert c.get(ann) == {"id": ann, "email": "ann@x", "name": "Ann", "city": "Rome", "score": 5}
        assert c.get(eve)["city"] == "" and c.get(eve)["score"] == 0
        c._db.execute("update contact set score = 1 where id = ?", (eve,))
        with raises(m.Duplicate):
            c.add("ann@x", "Other")
        assert c.get(eve)["score"] == 0 and c.count() == 3
        assert c.find("Rome") == ["Bob's", "Ann"] and c.find("Rome", 7) == ["Bob's"] and c.find("Rome", 6) == ["Bob's"]
        assert c.find("Rome", limit=1) == ["Bob's"] and c.find("x' or '1'='1") == []
        c.add("zoe@x", "Zoe", "Rome", 5)
        assert c.find("Rome") == ["Bob's", "Ann", "Zoe"]
        for n in range(25):
            c.add(f"n{n}@x", f"N{n:02}", "Oslo", 1)
        assert len(c.find("Oslo")) == 20 and c.find("Oslo")[0] == "N00"
        c.move(eve, "L'Aquila")
        assert c.get(eve)["city"] == "L'Aquila" and not c._db.in_transaction
        c._db.execute("update contact set score = 1 where id = ?", (eve,))
        with raises(m.Missing):
            c.move(999, "Rome")
        assert c.get(eve)["score"] == 0
        for points in (0, -1):
            with raises(ValueError, match="positive"):
                c.reward([ann], points)
        c.reward([ann, bob], 3)
        assert (c.get(ann)["score"], c.get(bob)["score"]) == (8, 10) and not c._db.in_transaction
        with raises(m.Missing):
            c.reward([ann, 999], 3)
        assert c.get(ann)["score"] == 8 and c.get(bob)["score"] == 10
        c.reward([ann], 1)
        assert c.get(ann)["score"] == 9 and c.get(bob)["score"] == 10
        with raises(sqlite3.Error):
            c.add("z@x", "Z", city=object())
    finally:
        c.close()


def storage_documents(m: Any) -> None:
    for name in ("", "a/b", ".hidden"):
        with raises(ValueError, match="cannot be"):
            m.file_name(name)
    assert m.file_name("a.b") == "a.b.json"
    with tempfile.TemporaryDirectory() as folder:
        one, two = m.Documents(folder), m.Documents(folder)
        with raises(m.NotThere):
            one.load("x")
        content = {"n": [1]}
        assert one.version("x") == 0 and one.save("x", content) == 1
        content["n"].append(2)
        got, version = one.load("x")
        assert (got, version) == ({"n": [1]}, 1)
        got["n"].append(3)
        assert one.load("x") == ({"n": [1]}, 1) and one.names() == ["x"]
        for wrong in (0, 2):
            with raises(m.Conflict):
                one.save("x", {}, wrong)
        assert two.load("x") == ({"n": [1]}, 1)
        assert one.save("x", {"n": [5]}, 1) == 2
        assert two.load("x")[1] == 1 and two.load("x", True) == ({"n": [5]}, 2) and two.version("x") == 2
        one.save("x", {"n": [6]}, 2)
        seen: list[Any] = []

        def edit(content: Any) -> Any:
            seen.append(content["n"][0])
            return {"n": [content["n"][0] + 1]}

        assert two.change("x", edit) == 4 and seen == [5, 6]
        assert two.load("x") == ({"n": [7]}, 4)
        one.load("x", fresh=True)
        rounds: list[int] = []

        def slow(content: Any) -> Any:
            rounds.append(1)
            two.save("x", {"n": [len(rounds)]}, two.version("x"))
            return content

        with raises(m.Conflict):
            one.change("x", slow)
        assert len(rounds) == 3
        rounds.clear()
        with raises(m.Conflict):
            one.change("x", slow, 1)
        assert len(rounds) == 1
        with raises(ValueError, match="tries"):
            one.change("x", slow, 0)
        (Path(folder) / "bad.json").write_text("no json")
        with raises(ValueError):
            one.load("bad")
        with raises(ValueError):
            one.version("bad")

        def strange(content: Any) -> Any:
            raise KeyError("x")

        with raises(KeyError):
            one.change("x", strange)
        one.load("x", fresh=True)
        stale = one.load("x")[1]
        two.save("x", {"n": [99]}, two.version("x"))
        assert one.load("x")[1] == stale and one.load("x", fresh=True)[1] == stale + 1
