import { listen } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { makeService, startService } from "./support/test-service.ts";

const policy =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

function routes(app: Express): void {
  app.get("/page", (_req, res) => void res.send("<!doctype html><title>hello</title>"));
  app.get("/data", (_req, res) => void res.json({ a: 1 }));
  app.get("/own", (_req, res) => void res.set("Content-Security-Policy", "default-src *").send("<p>"));
  app.get("/none", (_req, res) => {
    res.removeHeader("Content-Security-Policy");
    res.send("<p>");
  });
}

describe("the security headers of a web service", () => {
  onBothMajors((express) => {
    it("PROF-7 EDGE-6 allow a page scripts, styles, images and forms of its own origin only", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      const { headers } = await request(test.url).get("/page");
      expect(headers).to.include({
        "content-security-policy": policy,
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
      });
      // All other headers are the same as on every page.
      for (const name of ["cross-origin-opener-policy", "origin-agent-cluster", "x-dns-prefetch-control"])
        expect(headers).to.have.property(name);
    });

    it("EDGE-7 equal those of an api service for JSON responses and problem documents", async () => {
      await using web = await startService({ kind: "web", app: express(), routes });
      await using api = await startService({ kind: "api", app: express(), routes });
      for (const path of ["/data", "/nowhere", "/health"]) {
        const [ofWeb, ofApi] = await Promise.all([web, api].map(({ url }) => request(url).get(path)));
        for (const name of Object.keys(ofApi?.headers ?? {}).filter((each) => !/date|request-id/.test(each)))
          expect(ofWeb?.headers[name], `${path} ${name}`).to.equal(ofApi?.headers[name]);
        expect(ofWeb?.headers["content-security-policy"]).to.equal(
          "default-src 'none'; frame-ancestors 'none'",
        );
      }
    });

    it("EDGE-6 do not replace a policy that the application has set or removed", async () => {
      await using test = await startService({ kind: "web", app: express(), routes });
      expect((await request(test.url).get("/own")).headers["content-security-policy"]).to.equal(
        "default-src *",
      );
      expect((await request(test.url).get("/none")).headers).not.to.have.property("content-security-policy");
    });

    it("are the same when service.app runs on another server", async () => {
      const { service } = await makeService({ kind: "web", app: express(), routes });
      await using plain = await listen(service.app);
      expect((await request(plain.url).get("/page")).headers["content-security-policy"]).to.equal(policy);
    });

    it("require https in prod", async () => {
      const { service } = await makeService({
        kind: "web",
        app: express(),
        routes,
        env: { SVC_ENV: "prod" },
      });
      const { headers } = await request(service.app).get("/page");
      expect(headers).to.include({ "content-security-policy": policy });
      expect(headers).to.have.property("strict-transport-security");
      await service.stop();
    });

    it("are not sent with security_headers = false", async () => {
      const toml = "security_headers = false\n";
      await using test = await startService({ kind: "web", app: express(), routes, toml });
      expect((await request(test.url).get("/page")).headers).not.to.have.property("content-security-policy");
    });
  });
});
