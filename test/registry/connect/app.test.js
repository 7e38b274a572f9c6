import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { app } from "./app.js";

describe("a Connect application", () => {
  let server;
  let origin;
  before(async () => {
    server = createServer(app).listen(0);
    await once(server, "listening");
    origin = `http://127.0.0.1:${server.address().port}`;
  });
  after(() => server.close());

  it("reads a JSON body, and knows the request's id", async () => {
    const response = await post('{"id":"7"}');
    assert.equal(response.status, 201);
    assert.deepEqual(await response.json(), { id: "7", seen: response.headers.get("x-request-id") });
  });

  it("responds to a wrong body with a problem", async () => {
    const response = await post("{}");
    assert.equal(response.status, 400);
    assert.equal((await response.json()).detail, "the order has no id");
  });

  it("responds with 429 above the limit, but stays ready", async () => {
    await post('{"id":"8"}');
    const response = await post('{"id":"9"}');
    assert.equal(response.status, 429);
    assert.equal(response.headers.get("content-type"), "application/problem+json");
    assert.equal((await fetch(`${origin}/ready`)).status, 200);
  });

  function post(body) {
    return fetch(`${origin}/orders`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
  }
});
