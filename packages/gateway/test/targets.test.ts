import { expect } from "chai";
import type { RouteOptions } from "@svc/gateway";
import { until } from "@svc/test-support";
import { closedOrigin, startGateway, startUpstream, testClock, type Upstream } from "./support/servers.ts";
import { startTcp } from "./support/tcp.ts";

const named = (name: string): Promise<Upstream> => startUpstream((_req, res) => res.end(name));
const route = (...targets: string[]): RouteOptions => ({ prefix: "/api", targets });

async function bodies(url: string, count: number): Promise<string[]> {
  const texts: string[] = [];
  for (let at = 0; at < count; at += 1) texts.push(await (await fetch(`${url}/api`)).text());
  return texts;
}

describe("the targets of a route", () => {
  it("take turns", async () => {
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

  it("rest for 10 s after three failures in a row, and then get one trial", async () => {
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
      "a target of the gateway is not answering; it rests for 10 s",
    ]);
  });

  it("rest after three timeouts, and not after statuses of 500 and above", async () => {
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

  it("leave the requests to the others while they rest, and return after a successful trial", async () => {
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

  it("do not rest because clients disconnect", async () => {
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

  it("get no new request for a second after Connection: close, while others exist", async () => {
    const clock = testClock();
    await using closing = await startUpstream((_req, res) => {
      res.setHeader("Connection", "close");
      res.end("closing");
    });
    await using other = await named("other");
    await using server = await startGateway({ routes: [route(closing.url, other.url)], now: clock.now });
    expect(await bodies(server.url, 4)).to.deep.equal(["closing", "other", "other", "other"]);
    clock.advance(1_000);
    expect(await bodies(server.url, 2)).to.include("closing");
  });

  it("get requests after Connection: close if there is no other", async () => {
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

  async function rest(url: string, prefix: string): Promise<void> {
    for (let at = 0; at < 3; at += 1) await fetch(`${url}${prefix}`);
  }

  it("counts the answering targets, and is healthy while each route has one", async () => {
    await using good = await named("good");
    const routes = [{ ...route(await closedOrigin(), good.url), critical: true }];
    await using server = await startGateway({ routes, now: testClock().now });
    const readiness = server.gateway.readiness();
    expect(readiness).to.include({ name: "gateway", critical: true });
    expect(readiness.check(signal)).to.deep.equal({ healthy: true, detail: "2 of 2 targets are answering" });
    await bodies(server.url, 6);
    expect(readiness.check(signal)).to.deep.equal({ healthy: true, detail: "1 of 2 targets are answering" });
  });

  it("is unhealthy and critical only if all targets of a critical route rest", async () => {
    const clock = testClock();
    const dead = await closedOrigin();
    const routes = [
      { prefix: "/a", targets: [dead] },
      { prefix: "/b", targets: [dead], critical: true },
    ];
    await using server = await startGateway({ routes, now: clock.now });
    const readiness = server.gateway.readiness();
    await rest(server.url, "/a");
    expect(readiness.check(signal)).to.deep.equal({
      healthy: false,
      critical: false,
      detail: "no target of /a is answering",
    });
    await rest(server.url, "/b");
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
