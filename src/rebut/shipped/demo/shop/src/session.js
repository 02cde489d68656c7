// Where the shop keeps who is logged in.

const { randomBytes } = require("node:crypto");
const { createClient } = require("redis");

const TTL = 3600;
const HOST = "shop-sessions";


const store = createClient({ url: `redis://${HOST}:6379` });


async function openSession(userId) {
  const token = randomBytes(32).toString("base64url");
  await store.setEx(`session:${token}`, TTL, JSON.stringify({ user: userId }));
  return token;
}

async function userOf(token) {
  const found = await store.get(`session:${token}`);
  return found ? JSON.parse(found).user : null;
}

module.exports = { openSession, userOf };
