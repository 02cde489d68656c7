"""The environment variables that rebut passes to the programs it starts: no keys and tokens for other programs."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

SYSTEM = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "COLORTERM"),
    *("LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"),
    *("LC_PAPER", "LC_NAME", "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"),
    # Version managers: without these variables, a program on PATH may not start.
    *("NVM_DIR", "VOLTA_HOME", "ASDF_DIR", "ASDF_DATA_DIR", "FNM_DIR", "FNM_MULTISHELL_PATH", "MISE_DATA_DIR"),
    *("NODENV_ROOT", "PYENV_ROOT", "PYENV_VERSION"),
    *("SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "COMSPEC", "PATHEXT", "PROGRAMFILES", "PROGRAMDATA"),
)
"""Who and where the user is, the language and the system.

Every variable is named. ssh passes on all of `LC_*`, so people put anything into variables of such names.
"""
NETWORK = (
    *("DBUS_SESSION_BUS_ADDRESS", "__CF_USER_TEXT_ENCODING"),  # how a tool reaches the key store of the system
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
"""What a program needs to use a login and the network."""
LIBRARIES = (
    *("TMPDIR", "LD_LIBRARY_PATH", "DEVELOPER_DIR", "SDKROOT"),
    *("DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_FALLBACK_FRAMEWORK_PATH"),
)
"""What a program of the system may need to start, where it is not in the usual place."""


CREDENTIALS = ("*KEY*", "*TOKEN*", "*SECRET*", "*PASSW*", "*CREDENTIAL*", "*AUTH_*", "*_DSN", "DATABASE_URL")
"""Names of variables with a key or a token, as globs in upper case."""


@lru_cache(maxsize=4096)
def is_named(name: str, globs: tuple[str, ...]) -> bool:
    """Whether a name matches a glob. Cached: a review starts many programs, all with the same environment."""
    return any(fnmatchcase(name, glob) for glob in globs)


def is_usual(name: str, globs: tuple[str, ...]) -> bool:
    """Whether a name matches, and not that of a key."""
    return is_named(name, globs) and not is_named(name.upper(), CREDENTIALS)


def usual(env: Mapping[str, str], *globs: str) -> dict[str, str]:
    """The variables of `env` that `is_usual` accepts."""
    return {name: value for name, value in env.items() if is_usual(name, globs)}
