import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

function routes(app: Express): void {
  app.get("/who", (req, res) => void res.json({ ip: req.ip, host: req.hostname, secure: req.secure }));
}

describe("a service behind a proxy", () => {
  onBothMajors((express) => {
    const forwarded = {
      "X-Forwarded-For": "6.6.6.6, 203.0.113.9, 10.0.0.2",
      "X-Forwarded-Proto": "https",
      "X-Forwarded-Host": "api.example.com",
    };

    it("EDGE-1 ignores X-Forwarded-* headers by default", async () => {
      await using test = await startService({ app: express(), routes });
      const { body } = await request(test.url).get("/who").set(forwarded);
      expect(body).to.deep.equal({ ip: "127.0.0.1", host: "127.0.0.1", secure: false });
    });

    it("EDGE-1 ignores X-Forwarded-* headers from an untrusted peer", async () => {
      await using test = await startService({
        app: express(),
        routes,
        toml: 'trusted_proxies = ["10.0.0.0/8"]\n',
      });
      const { body } = await request(test.url).get("/who").set(forwarded);
      expect(body).to.deep.equal({ ip: "127.0.0.1", host: "127.0.0.1", secure: false });
    });

    it("EDGE-2 takes the first untrusted address from the right of X-Forwarded-For as the client's", async () => {
      const toml = 'trusted_proxies = ["loopback", "10.0.0.0/8"]\n';
      await using test = await startService({ app: express(), routes, toml });
      const { body } = await request(test.url).get("/who").set(forwarded);
      expect(body).to.deep.equal({ ip: "203.0.113.9", host: "api.example.com", secure: true });
    });
  });
});

describe("the check of host names", () => {
  const toml = 'trusted_hosts = ["api.example.com", "*.tenants.example.com"]\n';

  onBothMajors((express) => {
    it("EDGE-3 accepts any host by default", async () => {
      await using test = await startService({ app: express(), routes });
      const answer = await request(test.url).get("/who").set("Host", "whatever.test");
      expect(answer.status).to.equal(200);
    });

    for (const host of [
      "api.example.com",
      "API.example.com:8080",
      "api.example.com.",
      "a.tenants.example.com",
      "a.b.Tenants.example.com:443",
    ]) {
      it(`EDGE-3 accepts the listed host ${host}`, async () => {
        await using test = await startService({ app: express(), routes, toml });
        const answer = await rawRequest(test.port, `GET /who HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        expect(answer.status).to.equal(200);
      });
    }

    for (const host of [
      "evil.test",
      "tenants.example.com",
      "api.example.com.evil.test",
      "127.0.0.1",
      "xapi.example.com",
      "eviltenants.example.com",
      "a.eviltenants.example.com",
      ".tenants.example.com",
      "a.tenants.example.com.evil.test",
      "",
    ]) {
      it(`EDGE-3 rejects the unlisted host "${host}" with a 400 problem`, async () => {
        await using test = await startService({ app: express(), routes, toml });
        const answer = await rawRequest(test.port, `GET /who HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        expect(answer.status).to.equal(400);
        expect(answer.headers["content-type"]).to.equal("application/problem+json");
        const body: unknown = JSON.parse(answer.body);
        expect(body).to.include({ detail: "this host name is not served here", instance: "/who" });
      });
    }

    it("EDGE-3 exempts the paths of probes and scrapers, which use a replica's address", async () => {
      await using test = await startService({ app: express(), routes, toml });
      for (const path of ["/health", "/ready?verbose", "/metrics"]) {
        expect((await request(test.url).get(path)).status, path).to.equal(200);
      }
      expect((await request(test.url).get("/info")).status).to.equal(400);
    });

    it("EDGE-3 uses X-Forwarded-Host instead of Host only behind a trusted proxy", async () => {
      const spoofed = { Host: "evil.test", "X-Forwarded-Host": "api.example.com" };
      await using far = await startService({ app: express(), routes, toml });
      expect((await request(far.url).get("/who").set(spoofed)).status).to.equal(400);
      const trusting = `${toml}trusted_proxies = ["loopback"]\n`;
      await using near = await startService({ app: express(), routes, toml: trusting });
      expect((await request(near.url).get("/who").set(spoofed)).status).to.equal(200);
    });
  });
});

describe("a service called by pages from other origins", () => {
  const origin = "https://app.example.com";

  onBothMajors((express) => {
    it("EDGE-4 sends no CORS header without configured origins", async () => {
      await using test = await startService({ app: express(), routes });
      const answer = await request(test.url).get("/who").set("Origin", origin);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).to.deep.equal(
        [],
      );
    });

    it("EDGE-4 lets a configured origin read responses, including problems, and their request id", async () => {
      const toml = `[service.cors]\norigins = ["${origin}"]\ncredentials = true\n`;
      await using test = await startService({ app: express(), routes, toml });
      for (const path of ["/who", "/nowhere"]) {
        const { headers } = await request(test.url).get(path).set("Origin", origin);
        expect(headers, path).to.include({
          "access-control-allow-origin": origin,
          "access-control-allow-credentials": "true",
          "access-control-expose-headers": "X-Request-ID",
          vary: "Origin",
        });
      }
      const { headers } = await request(test.url).get("/who").set("Origin", "https://evil.test");
      expect(headers).not.to.have.property("access-control-allow-origin");
    });

    it("EDGE-4 responds to a preflight request before the routes", async () => {
      const toml = `[service.cors]\norigins = ["${origin}"]\nallowed_headers = ["X-A"]\nmax_age = 5\n`;
      await using test = await startService({ app: express(), routes, toml });
      const answer = await request(test.url).options("/who").set({
        Origin: origin,
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "X-A",
      });
      expect(answer.status).to.equal(204);
      expect(answer.headers).to.include({
        "access-control-allow-origin": origin,
        "access-control-allow-headers": "X-A",
        "access-control-max-age": "5",
      });
      expect(answer.headers["access-control-allow-methods"]).to.contain("PUT");
    });

    it("EDGE-5 refuses to start with the origin * and credentials", async () => {
      const toml = '[service.cors]\norigins = ["*"]\ncredentials = true\n';
      let message = "";
      await startService({ app: express(), toml }).catch((error: Error) => (message = error.message));
      expect(message).to.contain("service.cors.origins").and.to.contain("credentials");
    });
  });
});
