import { expect } from "chai";
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { RouteOptions } from "@svc/gateway";
import { until } from "@svc/test-support";
import { closedOrigin, startGateway, startUpstream, testClock, type Upstream } from "./support/servers.ts";
import { startTcp } from "./support/tcp.ts";

const named = (name: string): Promise<Upstream> => startUpstream((_req, res) => res.end(name));
const route = (...targets: string[]): RouteOptions => ({ prefix: "/api", targets });

/** Starts a service that closes each connection; without a readiness status it does not respond to `/ready`. */
function startClosing(name: string, readiness: () => number | undefined): Promise<Upstream> {
  return startUpstream((req, res) => {
    res.setHeader("Connection", "close");
    const status = req.url === "/ready" ? readiness() : 200;
    if (status !== undefined) res.writeHead(status).end(name);
  });
}

const probesOf = ({ received }: Upstream): number => received.filter(({ url }) => url === "/ready").length;

async function bodies(url: string, count: number): Promise<string[]> {
  const texts: string[] = [];
  for (let at = 0; at < count; at += 1) texts.push(await (await fetch(`${url}/api`)).text());
  return texts;
}

describe("the targets of a route", () => {
  it("get requests in round-robin order", async () => {
    await using a = await named("a");
    await using b = await named("b");
    await using c = await named("c");
    await using server = await startGateway({ routes: [route(a.url, b.url, c.url)] });
    expect(await bodies(server.url, 6)).to.deep.equal(["a", "b", "c", "a", "b", "c"]);
  });

  it("are tried in turn while no connection can be made, at most once each", async () => {
    await using a = await startUpstream();
    const routes = [route(await closedOrigin(), await closedOrigin(), a.url)];
    await using server = await startGateway({ routes });
    const response = await fetch(`${server.url}/api`, { method: "POST", body: "abc" });
    expect(await response.text()).to.equal("3");
    const logged = server.logger.lines.length;
    expect(logged).to.equal(0);
  });

  it("get no requests for 10 s after three consecutive failures, and then one trial", async () => {
    const clock = testClock();
    let connections = 0;
    await using dead = await startTcp((socket) => {
      connections += 1;
      socket.once("data", () => socket.destroy());
    });
    await using server = await startGateway({ routes: [route(dead.url)], now: clock.now });
    const ask = async (): Promise<[number, string | null]> => {
      const response = await fetch(`${server.url}/api`);
      await response.arrayBuffer();
      return [response.status, response.headers.get("retry-after")];
    };
    for (let at = 0; at < 3; at += 1) expect(await ask()).to.deep.equal([502, null]);
    expect(await ask()).to.deep.equal([503, "10"]);
    clock.advance(4_000);
    expect(await ask()).to.deep.equal([503, "6"]);
    expect(connections).to.equal(3);
    clock.advance(6_000);
    expect(await ask()).to.deep.equal([502, null]);
    expect(await ask()).to.deep.equal([503, "10"]);
    expect(connections).to.equal(4);
    expect(server.logger.at("warn")).to.deep.equal([
      "a target of the gateway is not answering; it gets no requests for 10 s",
    ]);
  });

  it("are paused after three timeouts, and not after statuses of 500 and above", async () => {
    let isSilent = false;
    await using upstream = await startUpstream((_req, res) => {
      if (!isSilent) res.writeHead(503).end();
    });
    const routes = [{ ...route(upstream.url), timeoutSeconds: 0.05 }];
    await using server = await startGateway({ routes, now: testClock().now });
    const status = async (): Promise<number> => (await fetch(`${server.url}/api`)).status;
    for (let at = 0; at < 4; at += 1) expect(await status()).to.equal(503);
    expect(server.errors).to.deep.equal([]);
    isSilent = true;
    expect([await status(), await status(), await status(), await status()]).to.deep.equal([
      504, 504, 504, 503,
    ]);
  });

  it("are paused after three invalid responses", async () => {
    await using target = await startTcp((socket) =>
      socket.once("data", () => socket.write("SSH-2.0-OpenSSH_9.2\r\n")),
    );
    await using server = await startGateway({ routes: [route(target.url)], now: testClock().now });
    const statuses: number[] = [];
    for (let at = 0; at < 4; at += 1) statuses.push((await fetch(`${server.url}/api`)).status);
    expect(statuses).to.deep.equal([502, 502, 502, 503]);
  });

  it("get no requests while they are paused, and get them again after a successful trial", async () => {
    const clock = testClock();
    let isBroken = true;
    await using flaky = await startUpstream((req, res) => {
      if (isBroken) req.socket.destroy();
      else res.end("flaky");
    });
    await using good = await named("good");
    await using server = await startGateway({ routes: [route(flaky.url, good.url)], now: clock.now });
    for (let at = 0; at < 6; at += 1) await fetch(`${server.url}/api`);
    expect(flaky.received).to.have.lengthOf(3);
    expect(await bodies(server.url, 4)).to.deep.equal(["good", "good", "good", "good"]);
    isBroken = false;
    clock.advance(10_000);
    expect(new Set(await bodies(server.url, 4))).to.deep.equal(new Set(["flaky", "good"]));
    expect(server.logger.at("info")).to.deep.equal(["a target of the gateway is answering again"]);
  });

  it("are not paused when clients disconnect", async () => {
    await using upstream = await startUpstream((req, res) => {
      if (req.url !== "/api/slow") res.end("ok");
    });
    await using server = await startGateway({ routes: [route(upstream.url)] });
    for (let at = 1; at <= 4; at += 1) {
      const controller = new AbortController();
      const asked = fetch(`${server.url}/api/slow`, { signal: controller.signal }).catch(() => undefined);
      await until("the request arrives", () => upstream.received.length === at);
      controller.abort();
      await asked;
    }
    expect(await bodies(server.url, 1)).to.deep.equal(["ok"]);
  });

  it("get no new request for a second after Connection: close if there are other targets", async () => {
    const clock = testClock();
    await using closing = await startClosing("closing", () => 404);
    await using other = await named("other");
    await using server = await startGateway({ routes: [route(closing.url, other.url)], now: clock.now });
    expect(await bodies(server.url, 4)).to.deep.equal(["closing", "other", "other", "other"]);
    await until("the gateway has asked for /ready", () => probesOf(closing) === 1);
    clock.advance(1_000);
    expect(await bodies(server.url, 2)).to.include("closing");
  });

  it("do not count as draining when they close the connection of a rejected request", async () => {
    await using strict = await startUpstream((_req, res) =>
      res.writeHead(413, { Connection: "close" }).end("strict"),
    );
    await using other = await named("other");
    await using server = await startGateway({ routes: [route(strict.url, other.url)] });
    expect(await bodies(server.url, 4)).to.deep.equal(["strict", "other", "strict", "other"]);
  });

  it("get no new request while they drain, until /ready returns 200", async () => {
    const clock = testClock();
    let ready = 503;
    await using closing = await startClosing("closing", () => ready);
    await using other = await named("other");
    await using server = await startGateway({ routes: [route(closing.url, other.url)], now: clock.now });
    await bodies(server.url, 2);
    clock.advance(59_000);
    await until("the gateway has asked for /ready twice", () => probesOf(closing) === 2);
    clock.advance(59_000);
    expect(await bodies(server.url, 3)).to.deep.equal(["other", "other", "other"]);
    ready = 200;
    const probes = probesOf(closing);
    await until("the gateway has asked again", () => probesOf(closing) === probes + 1);
    await until("the target gets requests", async () => (await bodies(server.url, 2)).includes("closing"));
    expect(probesOf(other)).to.equal(0);
  });

  it("get requests again a minute after their last sign of draining", async () => {
    const clock = testClock();
    await using closing = await startClosing("closing", () => undefined);
    await using other = await named("other");
    await using server = await startGateway({ routes: [route(closing.url, other.url)], now: clock.now });
    await bodies(server.url, 2);
    clock.advance(59_999);
    expect(await bodies(server.url, 2)).to.deep.equal(["other", "other"]);
    clock.advance(1);
    expect(await bodies(server.url, 2)).to.include("closing");
  });

  it("get requests in the order of their last sign of draining if all are draining, and are not paused meanwhile", async () => {
    const clock = testClock();
    const pending = (): undefined => undefined;
    await using first = await startClosing("first", pending);
    await using second = await startClosing("second", pending);
    await using server = await startGateway({ routes: [route(first.url, second.url)], now: clock.now });
    const got: string[] = [];
    for (let at = 0; at < 5; at += 1) {
      got.push(...(await bodies(server.url, 1)));
      clock.advance(1);
    }
    expect(got).to.deep.equal(["first", "second", "first", "second", "first"]);
    first.server.close().closeAllConnections();
    await until("the target refuses connections", () => !first.server.listening);
    expect(await bodies(server.url, 4)).to.deep.equal(Array(4).fill("second"));
    first.server.listen(first.port, "127.0.0.1");
    await once(first.server, "listening");
    expect(await bodies(server.url, 1)).to.deep.equal(["first"]);
  });

  it("are probed at /ready outside the context of the request whose response announced the drain", async () => {
    const storage = new AsyncLocalStorage<string>();
    const contexts: (string | undefined)[] = [];
    const onCreate = (message: unknown): void => {
      const { path } = (message as { readonly request: { readonly path: string } }).request;
      if (path === "/ready") contexts.push(storage.getStore());
    };
    subscribe("undici:request:create", onCreate);
    await using closing = await startClosing("closing", () => 503);
    await using other = await named("other");
    const before = (): void => storage.enterWith("the request");
    await using server = await startGateway({ routes: [route(closing.url, other.url)] }, { before });
    await bodies(server.url, 1);
    await until("the gateway has asked for /ready twice", () => contexts.length === 2);
    unsubscribe("undici:request:create", onCreate);
    expect(contexts).to.deep.equal([undefined, undefined]);
  });

  it("are not probed at /ready if there is only one", async () => {
    await using closing = await startClosing("closing", () => 503);
    await using server = await startGateway({ routes: [route(closing.url)] });
    expect(await bodies(server.url, 2)).to.deep.equal(["closing", "closing"]);
  });

  it("get requests after Connection: close if there is no other target", async () => {
    await using closing = await startUpstream((_req, res) => {
      res.setHeader("Connection", "close");
      res.end("closing");
    });
    await using server = await startGateway({ routes: [route(closing.url, await closedOrigin())] });
    expect(await bodies(server.url, 6)).to.deep.equal(Array(6).fill("closing"));
  });

  it("do not count as closing after HEAD, for which undici closes the connection", async () => {
    await using a = await named("a");
    await using b = await named("b");
    await using server = await startGateway({ routes: [route(a.url, b.url)], now: testClock().now });
    for (let at = 0; at < 4; at += 1) await fetch(`${server.url}/api`, { method: "HEAD" });
    expect([a.received.length, b.received.length]).to.deep.equal([2, 2]);
  });
});

describe("the readiness of a gateway", () => {
  const signal = AbortSignal.timeout(60_000);

  async function pause(url: string, prefix: string): Promise<void> {
    for (let at = 0; at < 3; at += 1) await fetch(`${url}${prefix}`);
  }

  it("counts the responding targets, and is healthy while each route has one", async () => {
    await using good = await named("good");
    const routes = [{ ...route(await closedOrigin(), good.url), critical: true }];
    await using server = await startGateway({ routes, now: testClock().now });
    const readiness = server.gateway.readiness();
    expect(readiness).to.include({ name: "gateway", critical: true });
    expect(readiness.check(signal)).to.deep.equal({ healthy: true, detail: "2 of 2 targets are answering" });
    await bodies(server.url, 6);
    expect(readiness.check(signal)).to.deep.equal({ healthy: true, detail: "1 of 2 targets are answering" });
  });

  it("is unhealthy and critical only if all targets of a critical route are paused", async () => {
    const clock = testClock();
    const dead = await closedOrigin();
    const routes = [
      { prefix: "/a", targets: [dead] },
      { prefix: "/b", targets: [dead], critical: true },
    ];
    await using server = await startGateway({ routes, now: clock.now });
    const readiness = server.gateway.readiness();
    await pause(server.url, "/a");
    expect(readiness.check(signal)).to.deep.equal({
      healthy: false,
      critical: false,
      detail: "no target of /a is answering",
    });
    await pause(server.url, "/b");
    expect(readiness.check(signal)).to.deep.equal({
      healthy: false,
      critical: true,
      detail: "no target of /a, /b is answering",
    });
    clock.advance(10_000);
    expect(readiness.check(signal)).to.deep.equal({ healthy: true, detail: "2 of 2 targets are answering" });
  });

  it("is not critical without a critical route", async () => {
    await using server = await startGateway({ routes: [] });
    expect(server.gateway.readiness()).to.include({ critical: false });
  });
});
