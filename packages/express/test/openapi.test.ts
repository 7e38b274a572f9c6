import { requireAuth } from "@svc/jwt-auth";
import { route } from "@svc/openapi";
import { expect } from "chai";
import express from "express";
import express4 from "express4";
import request from "supertest";
import { z } from "zod";
import { startService } from "./support/test-service.ts";

const majors = { "express 4": express4 as unknown as typeof express, "express 5": express };

/** Without this setting, a service in `prod` waits before it stops. */
const quick = "drain_delay = 0\n";

describe("the plugin `openapi`", () => {
  for (const [major, create] of Object.entries(majors)) {
    it(`DOC-1 DOC-3 describes the routes of the application on ${major}, and those of the service itself`, async () => {
      await using service = await startService({
        app: create(),
        toml: 'version = "2.0.0"\n[plugin.openapi]\ntitle = "Orders"\n',
        routes: (app) => {
          app.use(route({ method: "GET", path: "/orders/:id" }, (_valid, _req, res) => res.json({})));
        },
      });
      const { status, headers, body } = await request(service.url).get("/openapi.json");
      expect([status, headers["content-type"], headers["cache-control"]]).to.deep.equal([
        200,
        "application/json",
        "no-cache",
      ]);
      expect(body.info).to.deep.equal({ title: "Orders", version: "2.0.0" });
      expect(Object.keys(body.paths as object)).to.deep.equal([
        "/docs",
        "/health",
        "/info",
        "/metrics",
        "/openapi.json",
        "/orders/{id}",
        "/ready",
      ]);
      const page = await request(service.url).get("/docs");
      expect(page.headers["content-security-policy"]).to.contain("script-src 'self'");
      expect((await request(service.url).get("/docs/docs.js")).status).to.equal(200);
    });
  }

  it("DOC-2 DOC-3 serves the document in prod, but the page there only with docs = true", async () => {
    const inProd = { env: { SVC_ENV: "prod" } };
    await using service = await startService({ ...inProd, app: express(), toml: quick });
    expect((await request(service.url).get("/openapi.json")).body.openapi).to.match(/^3\.1\./);
    expect((await request(service.url).get("/docs")).status).to.equal(404);
    await using open = await startService({
      ...inProd,
      app: express(),
      toml: `${quick}[plugin.openapi]\ndocs = true\n`,
    });
    expect((await request(open.url).get("/docs")).status).to.equal(200);
    await using closed = await startService({ app: express(), toml: "[plugin.openapi]\nopenapi = false\n" });
    const { status, body } = await request(closed.url).get("/openapi.json");
    expect([status, body.title]).to.deep.equal([404, "Not Found"]);
  });

  it("DOC-1 is not part of the reduced profile", async () => {
    const env = { SVC_APP_NAME: "small", SVC_PORT: "0" };
    await using service = await startService({ app: express(), profile: "reduced", config: undefined, env });
    expect((await request(service.url).get("/openapi.json")).status).to.equal(404);
  });

  it("logs responses that do not match their description, outside prod", async () => {
    const responses = { 200: { body: z.object({ n: z.number() }) } };
    for (const [env, lines] of [
      ["local", 1],
      ["prod", 0],
    ] as const) {
      await using service = await startService({
        app: express(),
        toml: quick,
        env: { SVC_ENV: env },
        routes: (app) => {
          app.use(
            route({ method: "GET", path: "/n", responses }, (_valid, _req, res) => res.json({ n: "1" })),
          );
        },
      });
      expect((await request(service.url).get("/n")).status).to.equal(200);
      const found = service.lines.filter(({ message }) => String(message).includes("is not as described"));
      expect(found, env).to.have.length(lines);
    }
  });

  it("describes the error responses of other plugins on every route, and includes the members set in code", async () => {
    const auth =
      '[plugins]\nenabled = ["observability", "openapi", "auth"]\n[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\n';
    await using service = await startService({
      app: express(),
      toml: auth,
      env: { SVC_AUTH_SECRET: "a-secret-of-the-tests-with-32-bytes" },
      openapi: { info: { license: { name: "MIT" } }, tokenCookie: "session" },
      routes: (app) => void app.get("/a", requireAuth(), (_req, res) => void res.json({})),
    });
    const { body } = await request(service.url).get("/openapi.json");
    expect(Object.keys(body.paths["/a"].get.responses as object)).to.deep.equal([
      "200",
      "400",
      "401",
      "413",
      "415",
      "500",
      "504",
    ]);
    expect(body.info.license).to.deep.equal({ name: "MIT" });
    expect(body.paths["/a"].get.security).to.deep.equal([{ bearerAuth: [] }, { cookieAuth: [] }]);
  });
});
