import { createServer } from "node:http";
import { listen, type Listening, rawRequest, signToken } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { faultsOf } from "./support/refusal.ts";
import {
  makeService,
  startService,
  type TestService,
  type TestServiceOptions,
} from "./support/test-service.ts";

const SECRET = "a-secret-of-the-tests-with-32-bytes";

function toml(target: string, prefixes: readonly string[]): string {
  const routes = prefixes.map(
    (prefix, at) => `[plugin.gateway.routes.r${at}]\nprefix = "${prefix}"\ntargets = ["${target}"]\n`,
  );
  return `[plugins]\nenabled = ["observability", "metrics", "gateway"]\n${routes.join("")}`;
}

describe("a service with a gateway", () => {
  let target: Listening;
  before(async () => {
    const server = createServer((req, res) => {
      let body = "";
      req.on("data", (chunk: Buffer) => (body += chunk.toString()));
      req.on("end", () =>
        res.end(JSON.stringify({ target: req.url, type: req.headers["content-type"], body })),
      );
    });
    target = await listen(server);
  });
  after(() => target[Symbol.asyncDispose]());

  const start = (options: TestServiceOptions, prefixes: readonly string[]): Promise<TestService> =>
    startService({ kind: "gateway", toml: toml(target.url, prefixes), ...options });

  function routes(app: Express): void {
    app.all("/api/own", (_req, res) => void res.json({ own: "/api/own" }));
    app.get("/own", (_req, res) => void res.json({ own: "/own" }));
    app.post("/own", (req, res) => void res.json(req.body));
  }

  it("PROF-7 does not start without the plugin gateway", async () => {
    expect(await faultsOf({ kind: "gateway" })).to.deep.equal([
      { key: "kind", message: 'is "gateway", which needs the plugin gateway: add it to [plugins] enabled' },
    ]);
    const { service } = await makeService({ kind: "gateway", toml: toml(target.url, ["/api"]) });
    expect(service.gateway).to.be.a("function");
    await service.stop();
  });

  onBothMajors((express) => {
    it("PROF-7 proxies a prefix before the application's routes run, and leaves all other requests to them", async () => {
      await using test = await start({ app: express(), routes }, ["/api"]);
      const get = async (path: string): Promise<unknown> =>
        JSON.parse((await request(test.url).get(path)).text) as unknown;
      expect(await get("/api/own?a=1")).to.deep.include({ target: "/api/own?a=1" });
      expect(await get("/own")).to.deep.equal({ own: "/own" });
      expect((await request(test.url).get("/nowhere")).status).to.equal(404);
    });

    it("PROF-7 handles its system endpoints itself, even inside a prefix", async () => {
      const prefixes = ["/health", "/ready", "/info", "/metrics"];
      await using test = await start({ app: express(), routes }, [...prefixes, "/api"]);
      for (const path of prefixes) {
        const { status, text } = await request(test.url).get(path);
        expect([status, text.includes('"target"')], path).to.deep.equal([200, false]);
        const inside = await request(test.url).get(`${path}/more`);
        expect(JSON.parse(inside.text), path).to.deep.include({ target: `${path}/more` });
      }
    });

    it("PROF-7 proxies forms unparsed and without the same-origin rule, and rejects the application's own with 415", async () => {
      await using test = await start({ app: express(), routes }, ["/api"]);
      const form = { "Content-Type": "application/x-www-form-urlencoded", Cookie: "a=1" };
      const { text } = await request(test.url).post("/api/form").set(form).send("a=1&b=%zz");
      expect(JSON.parse(text)).to.deep.equal({
        target: "/api/form",
        type: form["Content-Type"],
        body: "a=1&b=%zz",
      });
      expect((await request(test.url).post("/own").set(form).send("a=1")).status).to.equal(415);
      const { headers } = await request(test.url).get("/own");
      expect(headers["content-security-policy"]).to.equal("default-src 'none'; frame-ancestors 'none'");
    });
  });

  it("PROF-7 of kind web applies the same-origin rule to a form before it proxies the form unparsed", async () => {
    await using test = await start({ kind: "web", routes }, ["/api"]);
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const send = (headers: object) =>
      request(test.url)
        .post("/api/form")
        .set({ ...form, ...headers })
        .send("a=1");
    expect((await send({})).status).to.equal(403);
    const accepted = await send({ "Sec-Fetch-Site": "same-origin" });
    expect(JSON.parse(accepted.text)).to.deep.include({ body: "a=1" });
  });

  it("of kind web refuses a WebSocket with a cookie from another site", async () => {
    await using test = await start({ kind: "web", routes }, ["/api"]);
    const open = async (headers: string): Promise<number | undefined> => {
      const head = "GET /api/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n";
      const keys = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
      return (await rawRequest(test.port, `${head}${keys}${headers}\r\n`)).status;
    };
    expect(await open("Cookie: a=1\r\nOrigin: http://evil.example\r\n")).to.equal(403);
    expect(await open("Cookie: a=1\r\n")).to.equal(403);
    // These requests reach the target, which is not a WebSocket server.
    expect(await open("Cookie: a=1\r\nOrigin: http://x\r\n")).not.to.equal(403);
    expect(await open("Origin: http://evil.example\r\n")).not.to.equal(403);
  });

  it("PROF-7 verifies callers before it proxies requests", async () => {
    const auth = `[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\nsecret = "${SECRET}"\n`;
    const text = `${toml(target.url, ["/api"])}require_auth = true\n${auth}`.replace(
      '"gateway"]',
      '"auth", "gateway"]',
    );
    await using test = await startService({ kind: "gateway", toml: text });
    expect((await request(test.url).get("/api/a")).status).to.equal(401);
    const token = signToken({}, SECRET);
    expect((await request(test.url).get("/api/a").set("Authorization", `Bearer ${token}`)).status).to.equal(
      200,
    );
  });
});
