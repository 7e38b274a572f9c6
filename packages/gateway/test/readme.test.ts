import { echoFrames, runSample } from "@svc/test-support";
import { expect } from "chai";
import { startUpstream } from "./support/servers.ts";
import { startWebSockets } from "./support/websockets.ts";
import { once } from "node:events";

const readme = new URL("../README.md", import.meta.url);
const target = "http://127.0.0.1:8010";

describe("README of @svc/gateway", function () {
  this.timeout(60_000);

  it("has a sample service that passes requests on and handles others itself", async () => {
    await using upstream = await startUpstream();
    await using sample = await runSample(readme, 0, { replace: { [target]: upstream.url } });
    const url = await sample.url;
    const response = await fetch(`${url}/billing/invoices?year=2026`, { method: "POST", body: "12345" });
    expect(await response.text()).to.equal("5");
    const { headers, url: path } = upstream.only();
    expect(path).to.equal("/invoices?year=2026");
    expect(headers["x-request-id"]).to.equal(response.headers.get("x-request-id"));
    expect(await (await fetch(url)).json()).to.deep.equal({ here: true });
    expect((await fetch(`${url}/billing/..%2fx`)).status).to.equal(400);
  });

  it("has a sample service that passes WebSockets on", async () => {
    await using upstream = await startWebSockets(echoFrames);
    await using sample = await runSample(readme, 0, { replace: { [target]: upstream.url } });
    const socket = new WebSocket(`${(await sample.url).replace("http", "ws")}/billing/events`);
    await once(socket, "open");
    socket.send("hello");
    const [event] = (await once(socket, "message")) as [MessageEvent];
    expect(event.data).to.equal("hello");
    socket.close();
    await once(socket, "close");
  });
});
