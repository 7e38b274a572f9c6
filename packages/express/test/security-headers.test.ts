import type { ServerResponse } from "node:http";
import { listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { makeService, startService } from "./support/test-service.ts";

const data = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
const pageOnly = [
  "cross-origin-opener-policy",
  "origin-agent-cluster",
  "x-dns-prefetch-control",
  "x-permitted-cross-domain-policies",
];
const page = "<!doctype html><title>hello</title>";

/** Ways to write a page without the methods of Express. */
const pages: Readonly<Record<string, (res: ServerResponse) => void>> = {
  "writeHead and an object": (res) => void res.writeHead(200, { "Content-Type": "text/html" }).end(page),
  "writeHead, a phrase and an object": (res) =>
    void res.writeHead(200, "Fine", { "CONTENT-TYPE": "text/html" }).end(page),
  "writeHead and a flat list": (res) => void res.writeHead(200, ["Content-Type", "text/html"]).end(page),
  "writeHead over a header that was set": (res) => {
    res.setHeader("Content-Type", "text/plain");
    res.writeHead(200, { "content-type": "text/html" }).end(page);
  },
  "setHeader and end": (res) => void res.setHeader("content-type", "text/html; charset=utf-8").end(page),
  "flushHeaders and write": (res) => {
    res.setHeader("Content-Type", "TEXT/HTML");
    res.flushHeaders();
    res.write(page);
    res.end();
  },
};

function routes(app: Express): void {
  app.get("/data", (_req, res) => void res.json({ a: 1 }));
  app.get("/page", (_req, res) => void res.send(page));
  app.get("/own", (_req, res) => void res.setHeader("X-Frame-Options", "SAMEORIGIN").json({ a: 1 }));
  app.get("/own-head", (_req, res) => {
    res.writeHead(200, { "X-Frame-Options": "SAMEORIGIN", "Content-Type": "text/csv" });
    res.end("a");
  });
  app.get("/empty", (_req, res) => void res.status(204).end());
  app.get("/events", (_req, res) => {
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    res.write("data: 1\n\n");
    res.end("data: 2\n\n");
  });
  for (const [name, write] of Object.entries(pages))
    app.get(`/${encodeURIComponent(name)}`, (_req, res) => write(res));
}

/** Returns the header names of a response as sent, in lower case, with repetitions. */
async function namesOnTheWire(port: number, path: string): Promise<readonly string[]> {
  const { text } = await rawRequest(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  const [, ...lines] = text.slice(0, text.indexOf("\r\n\r\n")).split("\r\n");
  return lines.map((line) => line.slice(0, line.indexOf(":")).toLowerCase()).toSorted();
}

describe("security headers", () => {
  onBothMajors((express) => {
    it("EDGE-6 EDGE-7 are each sent once, even when service.app runs on another server", async () => {
      await using test = await startService({ app: express(), routes });
      const { service } = await makeService({ app: express(), routes });
      await using plain = await listen(service.app);
      const paths = ["/data", "/page", "/own", "/own-head", "/empty", "/events", "/nowhere", "/health"];
      for (const path of [...paths, ...Object.keys(pages).map((name) => `/${encodeURIComponent(name)}`)]) {
        const names = await namesOnTheWire(test.port, path);
        expect(names, path).to.deep.equal([...new Set(names)]);
        expect(names, path).to.deep.equal(await namesOnTheWire(plain.port, path));
      }
    });

    it("EDGE-6 are the page headers when the handler sends a page after writeHead() has thrown", async () => {
      await using test = await startService({
        app: express(),
        routes(app) {
          app.get("/", (_req, res) => {
            expect(() => res.writeHead(9999)).to.throw(RangeError);
            res.type("html").send(page);
          });
        },
      });
      const names = await namesOnTheWire(test.port, "/");
      expect(names).to.include.members(pageOnly);
      expect(names).to.deep.equal([...new Set(names)]);
    });

    it("EDGE-7 are the four data headers on JSON, streams, empty responses, problems and framework routes", async () => {
      await using test = await startService({ app: express(), routes });
      for (const path of ["/data", "/events", "/empty", "/nowhere", "/health", "/ready", "/metrics"]) {
        const { headers } = await request(test.url).get(path);
        expect(headers, path).to.include(data);
        for (const name of pageOnly) expect(headers, path).not.to.have.property(name);
      }
    });

    it("EDGE-6 are helmet's headers on pages", async () => {
      await using test = await startService({ app: express(), routes });
      const { headers } = await request(test.url).get("/page");
      expect(headers["content-security-policy"]).to.contain("default-src 'self'");
      expect(headers).to.include({ "x-frame-options": "SAMEORIGIN", "x-content-type-options": "nosniff" });
      for (const name of pageOnly) expect(headers).to.have.property(name);
    });

    for (const name of Object.keys(pages)) {
      it(`EDGE-6 are the page headers when ${name} writes the page`, async () => {
        await using test = await startService({ app: express(), routes });
        const { headers, text } = await request(test.url).get(`/${encodeURIComponent(name)}`);
        expect(text).to.equal(page);
        expect(headers["content-type"]).to.match(/^text\/html/i);
        expect(headers["content-security-policy"]).to.contain("default-src 'self'");
      });
    }

    it("EDGE-7 do not replace a header that the application has set", async () => {
      await using test = await startService({ app: express(), routes });
      for (const path of ["/own", "/own-head"]) {
        const { headers } = await request(test.url).get(path);
        expect(headers, path).to.include({ ...data, "x-frame-options": "SAMEORIGIN" });
      }
    });

    it("are omitted from a 304, because they would replace the cached page's headers", async () => {
      await using test = await startService({ app: express(), routes });
      const first = await request(test.url).get("/page");
      const again = await request(test.url).get("/page").set("If-None-Match", String(first.headers["etag"]));
      expect(again.status).to.equal(304);
      for (const name of [...Object.keys(data), ...pageOnly])
        expect(again.headers).not.to.have.property(name);
    });

    for (const env of ["local", "dev", "staging", "prod"] as const) {
      const deployed = env === "staging" || env === "prod";
      it(`EDGE-6 ${deployed ? "require" : "do not require"} https in ${env}`, async () => {
        const { service } = await makeService({ app: express(), routes, env: { SVC_ENV: env } });
        const { headers } = await request(service.app).get("/page");
        expect("strict-transport-security" in headers).to.equal(deployed);
        expect(String(headers["content-security-policy"]).includes("upgrade-insecure-requests")).to.equal(
          deployed,
        );
        await service.stop();
      });
    }

    it("EDGE-6 EDGE-7 are not sent with security_headers = false", async () => {
      await using test = await startService({ app: express(), routes, toml: "security_headers = false\n" });
      for (const path of ["/data", "/page"]) {
        const { headers } = await request(test.url).get(path);
        for (const name of Object.keys(data)) expect(headers, path).not.to.have.property(name);
      }
    });

    it("do not bypass a writeHead() that other middleware has overridden", async () => {
      const { service } = await makeService({ app: express(), routes });
      const outer = express();
      outer.use((_req, res, next) => {
        // oxlint-disable-next-line typescript/unbound-method -- called with its response below
        const { writeHead } = res;
        res.writeHead = function counted(this: ServerResponse, ...args: Parameters<typeof writeHead>) {
          this.setHeader("X-Outer", "yes");
          return writeHead.apply(this, args);
        } as typeof writeHead;
        next();
      });
      outer.use(service.app);
      const { headers } = await request(outer).get("/data");
      expect(headers).to.include({ ...data, "x-outer": "yes" });
    });
  });
});
