const assert = require("node:assert/strict");
const { createHmac } = require("node:crypto");
const events = require("node:events");
const { after, before, describe, it } = require("node:test");
const { version } = require("express/package.json");
const { ordersApp } = require("./app.js");

const secret = "a secret of at least 32 bytes, for this test";

describe("an Express 4 application in CommonJS", () => {
  const lines = [];
  let server;
  let origin;
  before(async () => {
    server = ordersApp({ secret, destination: { write: (line) => lines.push(JSON.parse(line)) } }).listen(0);
    await events.once(server, "listening");
    origin = `http://127.0.0.1:${server.address().port}`;
  });
  after(() => server.close());

  it("uses Express 4", () => assert.match(version, /^4\./));

  it("accepts a token with the scope, and logs the request", async () => {
    const response = await post({ sub: "ada", scope: "orders:write" });
    assert.equal(response.status, 201);
    assert.deepEqual(await response.json(), { id: "7", by: "ada" });
    const id = response.headers.get("x-request-id");
    for (let wait = 0; wait < 100 && !lines.some(isLineOf(id)); wait++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(lines.find(isLineOf(id)).http_status, 201);
  });

  it("responds with problems to a missing token and to a missing scope", async () => {
    const missing = await post();
    assert.equal(missing.status, 401);
    assert.equal(missing.headers.get("content-type"), "application/problem+json");
    assert.equal((await post({ sub: "ada", scope: "orders:read" })).status, 403);
  });

  it("is ready and counts requests", async () => {
    assert.equal((await fetch(`${origin}/ready`)).status, 200);
    assert.match(
      await (await fetch(`${origin}/metrics`)).text(),
      /http_requests_total\{method="POST",endpoint="\/orders",status="201"\} 1/,
    );
  });

  function post(claims) {
    const authorization = claims === undefined ? {} : { authorization: `Bearer ${tokenOf(claims)}` };
    return fetch(`${origin}/orders`, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization },
      body: '{"id":"7"}',
    });
  }
});

function isLineOf(id) {
  return ({ request_id, message }) => request_id === id && message === "request";
}

function tokenOf(claims) {
  const exp = Math.floor(Date.now() / 1000) + 60;
  const parts = [
    { alg: "HS256", typ: "JWT" },
    { iss: "https://issuer.example", aud: "orders", iat: exp - 60, exp, ...claims },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}
