import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { createClient } from "@svc/http-client";
import { server } from "./app.js";

describe("a bare node:http server", () => {
  let client;
  let origin;
  before(async () => {
    server.listen(0);
    await once(server, "listening");
    origin = `http://127.0.0.1:${server.address().port}`;
    client = createClient({ name: "orders", baseUrl: origin });
  });
  after(async () => {
    await client.stop();
    server.close();
  });

  it("responds to the client of @svc/http-client", async () => {
    const response = await client.get("/orders/7");
    assert.deepEqual(response.json(), { id: "7", total: 42 });
  });

  it("responds to an unknown path with a problem", async () => {
    const response = await fetch(`${origin}/nowhere`);
    assert.equal(response.status, 404);
    const { detail, request_id } = await response.json();
    assert.equal(detail, "there is no such order");
    assert.equal(request_id, response.headers.get("x-request-id"));
  });

  it("responds to a request that is not HTTP with a problem", async () => {
    const socket = connect(server.address().port, "127.0.0.1");
    socket.end("nonsense\r\n\r\n");
    const chunks = await socket.toArray();
    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 400 .*application\/problem\+json/s);
  });

  it("is ready", async () => assert.equal((await fetch(`${origin}/ready`)).status, 200));
});
