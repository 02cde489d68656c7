"""Sessions of the shop, in Redis."""

import json

TTL = 1800


def save(redis, key, session):
    redis.set(key, json.dumps(session), ex=TTL)


def load(redis, key):
    found = redis.get(key)
    return json.loads(found) if found else None
