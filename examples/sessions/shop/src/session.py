"""Where the shop keeps who is logged in."""

import json
import secrets

import redis

TTL = 3600

store = redis.Redis(host="shop-sessions", port=6379)


def open_session(user_id: int) -> str:
    token = secrets.token_urlsafe(32)
    store.setex(f"session:{token}", TTL, json.dumps({"user": user_id}))
    return token


def user_of(token: str) -> int | None:
    found = store.get(f"session:{token}")
    return json.loads(found)["user"] if found else None


def close_session(token: str) -> None:
    store.delete(f"session:{token}")
