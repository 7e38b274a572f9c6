import { expect } from "chai";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { startService } from "./support/test-service.ts";

describe("a server that is closing", function () {
  this.timeout(15_000);

  it("sends the complete response to a slow reader", async () => {
    const page = Buffer.alloc(32 * 1024 * 1024, "a");
    await using started = await startService({
      routes: (app) => void app.get("/page", (_req, res) => void res.end(page)),
    });
    const request = get(`${started.url}/page`, { agent: false });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.pause();
    const stopped = started.service.stop();
    await started.line(({ phase }) => phase === "server");
    let bytes = 0;
    response.on("data", (chunk: Buffer) => (bytes += chunk.length));
    response.resume();
    await once(response, "close");
    expect(bytes).to.equal(page.length);
    expect(await stopped).to.equal(0);
  });

  it("still applies headers_timeout to a client with an unfinished request", async () => {
    await using started = await startService({ toml: "headers_timeout = 0.2\nshutdown_timeout = 10" });
    const socket = connect(started.port, "127.0.0.1");
    await once(socket, "connect");
    const arrived = once(started.service.server, "connection");
    socket.resume();
    socket.write("GET /health HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    await Promise.race([arrived, new Promise((resolve) => setTimeout(resolve, 50))]);
    expect(await started.service.stop()).to.equal(0);
    socket.destroy();
  });

  it("does not wait for a connection that sent no data", async () => {
    await using started = await startService({ toml: "headers_timeout = 60\nshutdown_timeout = 10" });
    const arrived = once(started.service.server, "connection");
    const socket = connect(started.port, "127.0.0.1");
    await arrived;
    expect(await started.service.stop()).to.equal(0);
    socket.destroy();
  });

  it("stops Node's deadline timer", async () => {
    await using started = await startService();
    const { server } = started.service;
    const keys = Object.getOwnPropertySymbols(server);
    const key = keys.find(({ description }) => description === "http.server.connectionsCheckingInterval");
    expect(key).to.be.a("symbol");
    const timer = (server as typeof server & Record<symbol, { readonly _destroyed?: boolean }>)[
      key as symbol
    ];
    expect(timer?._destroyed).to.equal(false);
    await started.service.stop();
    expect(timer?._destroyed).to.equal(true);
  });
});
