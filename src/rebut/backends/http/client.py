"""The shared HTTP client: keep-alive connections, and every failure as a `HttpFailed` with a kind and a hint."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rebut.core.caps import is_shared, on_send
from rebut.core.errors import ParticipantFailed, UsageError
from rebut.core.frozen import frozen
from rebut.core.network import is_loopback
from rebut.core.text import printable
from rebut.core.types import FailureKind, Usage

if TYPE_CHECKING:
    import aiohttp

TRANSIENT = frozenset({500, 502, 503, 504, 529})
BEHIND = frozenset({502, 504})
"""Status codes of a gateway that passed the request on: the model behind it may have answered, and charged."""
_CONNECT_SECONDS = 20.0
_QUOTED = 200
_READ_OF_ERROR = 16_384


class HttpFailed(ParticipantFailed):
    """A participant behind HTTP failed.

    `retryable`, `retry_after` (seconds) and `lost` (the request was sent, and its result is unknown) are for
    `Retrying`; `status` and `detail` (the server's message, without the key) for a wire that can leave out the part
    that was refused.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        hint: str = "",
        *,
        status: int = 0,
        detail: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
        lost: bool = False,
        usage: Usage | None = None,
        usd: float | None = None,
    ) -> None:
        super().__init__(kind, message, hint, usage=usage, usd=usd)
        self.status, self.detail = status, detail
        self.retryable, self.retry_after, self.lost = retryable, retry_after, lost


@frozen
class Address:
    """The address of a participant, and how messages refer to it without revealing a secret."""

    who: str
    """The participant's name in messages, such as `openai:gpt-5`."""
    url: str
    place: str
    """`host:port`."""
    local: bool
    key: str = ""
    key_env: str = ""

    @classmethod
    def of(cls, who: str, url: str, key: str = "", key_env: str = "") -> Address:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        if parts.scheme not in ("http", "https") or not host:
            raise UsageError(f"{who}: {url!r} is not an HTTP address", "Write base_url as https://HOST/PATH.")
        if parts.username is not None or parts.password is not None:
            raise UsageError(
                f"{who}: the address at {host} contains a user name or a password",
                "Remove it from base_url; a key belongs in an environment variable.",
            )
        shown = f"[{host}]" if ":" in host else host
        place = f"{shown}:{port or (443 if parts.scheme == 'https' else 80)}"
        return cls(who, url, place, is_loopback(host), key.strip(), key_env)

    @property
    def provider(self) -> str:
        return self.who.partition(":")[0]

    @property
    def no_model(self) -> str:
        """The hint if the server does not have the model."""
        if self.local and not self.key:
            pull = f"for Ollama, `ollama pull {self.who.partition(':')[2]}`"
            return f"Load the model there ({pull}), or name one that `rebut models` lists, or check base_url."
        return (
            f"Name another model, {self.provider}:MODEL (`rebut doctor {self.provider}:MODEL` tries one), "
            "or check base_url."
        )

    @property
    def with_key(self) -> str:
        """With which key it was called, for a message that is read without its hint."""
        return f"with {self._named_key}" if self.key else "without a key"

    @property
    def check_key(self) -> str:
        """The hint if the server refused the key."""
        if self.key:
            return f"Check {self._named_key}: it is wrong, expired, or may not use this model."
        if self.key_env:
            return f"Run `export {self.key_env}=KEY`."
        return f"If it needs a key, set api_key_env in [providers.{self.provider}] of your config."

    @property
    def _named_key(self) -> str:
        return f"the key in {self.key_env}" if self.key_env else "its key"

    @property
    def no_credit(self) -> str:
        """The hint if the account has no credit."""
        whose = f"the account of {self.key_env}" if self.key_env else "its account"
        return f"Add credit to {whose}, or name another model: `rebut models` lists what is here."

    def quote(self, text: str) -> str:
        """A server's message, short, on one line, without control characters and without the key."""
        if self.key:
            text = text.replace(self.key, "[key]")
        return printable(text, _QUOTED)


class HttpClient:
    """One aiohttp session for each event loop, opened on first use.

    A session closes itself when its loop shuts down: it lives in an async generator, and `asyncio.run` ends these
    before it closes the loop. `close()` closes it earlier.
    """

    def __init__(self, *, connections: int = 512) -> None:
        self._connections = connections
        self._open: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._keepers: dict[asyncio.AbstractEventLoop, AsyncGenerator[aiohttp.ClientSession, None]] = {}
        self._proxies: dict[str, str | None] = {}

    async def session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        session = self._open.get(loop)
        if session is None or session.closed:
            keeper = self._keep(loop)
            # No other task runs before the first yield, so two callers cannot both open a session.
            session = await anext(keeper)
            self._keepers[loop] = keeper
        return session

    async def close(self) -> None:
        """Close the running loop's session."""
        keeper = self._keepers.get(asyncio.get_running_loop())
        if keeper is not None:
            await keeper.aclose()

    @asynccontextmanager
    async def post(
        self, address: Address, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send `body` and yield the response if it is a success; otherwise raise `HttpFailed`.

        Redirects are not followed, since the key would be sent along. Leaving the block early closes the connection.
        """
        import aiohttp

        session = await self.session()
        answered = False
        try:
            async with session.post(
                address.url, data=body, headers=headers, allow_redirects=False, proxy=self._proxy(address)
            ) as response:
                answered = True
                if response.status != 200:
                    raise await refused(address, response)
                yield response
        except aiohttp.ClientError as error:
            raise _unreached(address, error, answered) from error

    async def _keep(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[aiohttp.ClientSession, None]:
        import aiohttp

        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=30.0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "rebut"},
            # With trust_env, aiohttp also reads passwords from .netrc. Only proxies are wanted, see `_proxy`.
            trust_env=False,
            trace_configs=[_reporting()] if is_shared() else None,
        )
        self._open[loop] = session
        try:
            yield session
        finally:
            self._open.pop(loop, None)
            self._keepers.pop(loop, None)
            await session.close()

    def _proxy(self, address: Address) -> str | None:
        """The proxy that the environment sets for this address; none for this machine itself."""
        if address.local:
            return None
        if address.url not in self._proxies:
            from urllib.request import getproxies, proxy_bypass

            host = urlsplit(address.url).hostname or ""
            known = getproxies()
            proxy = None if proxy_bypass(host) else known.get(urlsplit(address.url).scheme) or known.get("all")
            if proxy and not proxy.startswith(("http://", "https://")):
                # Ignoring a proxy that was set on purpose would be worse than failing.
                kind = proxy.partition(":")[0]
                raise HttpFailed(
                    "crashed",
                    f"{address.who}: the proxy for {address.place} in the environment is of the kind {kind!r}",
                    f"Only HTTP proxies are supported: set another one, or add {host} to no_proxy.",
                )
            self._proxies[address.url] = proxy
        return self._proxies[address.url]


def _reporting() -> aiohttp.TraceConfig:
    """Reports when a request is really sent, for caps that processes share: a busy event loop may send it late."""
    import aiohttp

    async def sent(session: object, context: object, params: object) -> None:
        on_send.get()()

    found = aiohttp.TraceConfig()
    found.on_request_headers_sent.append(sent)
    return found


_shared = HttpClient()


def shared() -> HttpClient:
    """The client that all backends use by default."""
    return _shared


async def refused(address: Address, response: aiohttp.ClientResponse) -> HttpFailed:
    """The failure for a response with an error status."""
    raw = await response.content.read(_READ_OF_ERROR)
    detail = error_message(raw.decode("utf-8", "replace"))
    after = retry_after(response.headers)
    if 300 <= response.status < 400:
        return HttpFailed(
            "crashed",
            f"{address.who}: {address.place} answered with a redirect ({response.status})",
            "Redirects are not followed, so that no key is sent elsewhere: set base_url to the final address.",
            status=response.status,
        )
    return failure(address, response.status, detail, after)


def error_message(body: str) -> str:
    """The message inside an error body. A body that is not JSON, or is nested too deep, is returned whole."""
    try:
        value = json.loads(body)
        inner = value.get("error", value) if isinstance(value, dict) else value
        if isinstance(inner, dict):
            parts = [str(inner[name]) for name in ("message", "detail", "code", "type", "param") if inner.get(name)]
            return " · ".join(dict.fromkeys(parts)) or body
    except (ValueError, RecursionError):
        return body
    return inner if isinstance(inner, str) else body


def failure(address: Address, status: int, detail: str, after: float | None = None) -> HttpFailed:
    """The failure for a status and a message of a server."""
    if address.key:
        detail = detail.replace(address.key, "[key]")
    quoted = address.quote(detail)
    refused = status in (401, 403)
    place = f"{address.place}, {address.with_key}," if refused else address.place
    message = f"{address.who}: {place} answered {status}" + (f": {quoted}" if quoted else "")

    def failed(kind: FailureKind, hint: str, retryable: bool = False) -> HttpFailed:
        return HttpFailed(
            kind,
            message,
            hint,
            status=status,
            detail=detail,
            retryable=retryable,
            retry_after=after if retryable else None,
            lost=status in BEHIND,
        )

    if refused:
        return failed("auth", address.check_key)
    if status == 402 or "insufficient_quota" in detail:
        return failed("rate limit", address.no_credit)
    if status == 404:
        bare = (
            "" if re.search(r"/v\d", urlsplit(address.url).path) else " Most servers need /v1 at the end of base_url."
        )
        return failed("missing tool", f"{address.no_model}{bare}")
    if status == 413:
        return failed("crashed", "The request is too large for it: give less context, or choose another model.")
    if status == 429:
        return failed("rate limit", "Wait and resume, or lower the number of concurrent calls.", retryable=True)
    if status >= 500:
        return failed("crashed", "The provider has a problem: wait and resume.", retryable=status in TRANSIENT)
    return failed("crashed", "The request was refused; see the server's message above.")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: a number, or a date that is compared with the server's own clock."""
    value = headers.get("Retry-After", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    from email.utils import parsedate_to_datetime  # here: every debate loads this module, and few need the import

    try:
        until = parsedate_to_datetime(value)
        now = parsedate_to_datetime(headers["Date"]) if "Date" in headers else datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        # Not a date, or one of the two has no time zone.
        return None


def broke_off(address: Address, why: str, *, retryable: bool) -> HttpFailed:
    why = "the connection was closed in the middle" if "Not enough data" in why else why  # aiohttp's message is long
    return HttpFailed(
        "crashed",
        f"{address.who}: the stream broke off: {address.quote(why)}",
        "Resume to ask again.",
        retryable=retryable,
        lost=True,
    )


def _unreached(address: Address, error: aiohttp.ClientError, answered: bool) -> HttpFailed:
    import aiohttp

    if answered:
        return broke_off(address, str(error) or type(error).__name__, retryable=False)
    start = "Start the server there, or correct base_url." if address.local else "Check base_url and the network."
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        message = f"{address.who}: the host name in {address.place} is unknown"
        return HttpFailed("crashed", message, start, retryable=True)
    if isinstance(error, aiohttp.ClientSSLError):
        return HttpFailed(
            "crashed",
            f"{address.who}: no secure connection to {address.place}: {address.quote(str(error))}",
            "Check the address and the certificates of this machine.",
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        why = error.strerror or "no connection"
        return HttpFailed("crashed", f"{address.who}: cannot reach {address.place}: {why}", start, retryable=True)
    if isinstance(error, aiohttp.ServerTimeoutError):
        message = f"{address.who}: no connection to {address.place} within {_CONNECT_SECONDS:.0f} s"
        return HttpFailed("crashed", message, start, retryable=True)
    if isinstance(error, aiohttp.ClientOSError | aiohttp.ServerDisconnectedError):
        message = f"{address.who}: {address.place} closed the connection before it answered"
        return HttpFailed("crashed", message, start, retryable=True, lost=True)
    message = f"{address.who}: {address.place} does not answer in HTTP: {address.quote(str(error))}"
    return HttpFailed("crashed", message, start)
