import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ordersService } from "./app.js";

describe("a service of @svc/express on Express 5", () => {
  let service;
  let origin;
  before(async () => {
    service = await ordersService({});
    await service.start();
    origin = `http://127.0.0.1:${service.address.port}`;
  });
  after(async () => assert.equal(await service.stop(), 0));

  it("responds with an order and a request id", async () => {
    const response = await fetch(`${origin}/orders/7`);
    assert.deepEqual(await response.json(), { id: "7", total: 42 });
    assert.match(response.headers.get("x-request-id"), /^[0-9a-f]{32}$/);
  });

  it("reads a JSON body", async () => {
    const response = await fetch(`${origin}/orders`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"id":"8","total":1}',
    });
    assert.equal(response.status, 201);
    assert.deepEqual(await (await fetch(`${origin}/orders/8`)).json(), { id: "8", total: 1 });
  });

  it("responds to an unknown order with a problem", async () => {
    const response = await fetch(`${origin}/orders/9`);
    assert.equal(response.status, 404);
    assert.equal(response.headers.get("content-type"), "application/problem+json");
    assert.equal((await response.json()).detail, "there is no order 9");
  });

  it("is ready and counts requests", async () => {
    assert.equal((await (await fetch(`${origin}/ready`)).json()).status, "ok");
    const metrics = await (await fetch(`${origin}/metrics`)).text();
    assert.match(metrics, /http_requests_total\{[^}]*endpoint="\/orders\/:id"/);
  });
});
