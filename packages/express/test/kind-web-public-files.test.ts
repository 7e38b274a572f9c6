import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { startService, type TestService, type TestServiceOptions } from "./support/test-service.ts";

const policy =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";
const files: Readonly<Record<string, string>> = {
  "index.html": "<!doctype html><title>start</title>",
  "style.css": "body { color: black }",
  "worker.js": "self.x = 1",
  "with space.txt": "spaced",
  "10%.txt": "ten",
  "deep/page.html": "<p>deep</p>",
  ".secret": "hidden",
  ".well-known/x.txt": "hidden",
  "deep/.env": "hidden",
  health: "a file",
  ready: "a file",
  info: "a file",
  metrics: "a file",
  own: "a file",
};

/** Sends a request target that fetch() and supertest would normalise. */
async function raw(port: number, target: string, method = "GET") {
  const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  return rawRequest(port, head);
}

function routes(app: Express): void {
  app.get("/own", (_req, res) => void res.send("a route"));
  app.get("/behind", (_req, res) => void res.send("a route"));
}

describe("the public files of a web service", () => {
  let folder = "";
  let root = "";
  before(async () => {
    root = await mkdtemp(join(tmpdir(), "svc-public-"));
    folder = join(root, "public");
    await writeFile(join(root, "outside.txt"), "outside");
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(folder, name, ".."), { recursive: true });
      await writeFile(join(folder, name), text);
    }
  });
  after(() => rm(root, { recursive: true }));

  const start = (options: TestServiceOptions): Promise<TestService> =>
    startService({ kind: "web", publicDir: folder, routes, ...options });

  onBothMajors((express) => {
    it("PROF-7 are sent with type, length, validators and a max-age of one hour", async () => {
      await using test = await start({ app: express() });
      const { status, text, headers } = await request(test.url).get("/style.css?v=1");
      expect([status, text]).to.deep.equal([200, files["style.css"]]);
      expect(headers).to.include({
        "content-type": "text/css; charset=utf-8",
        "content-length": "21",
        "cache-control": "public, max-age=3600",
        "accept-ranges": "bytes",
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
      });
      expect(headers).to.include.keys("etag", "last-modified", "x-request-id");
    });

    it("PROF-7 include index.html for /, and pages are sent with the page headers", async () => {
      await using test = await start({ app: express() });
      const index = await request(test.url).get("/");
      expect(index.text).to.equal(files["index.html"]);
      const deep = await request(test.url).get("/deep/page.html");
      expect(deep.text).to.equal(files["deep/page.html"]);
      for (const { headers } of [index, deep])
        expect(headers).to.include({
          "content-security-policy": policy,
          "x-frame-options": "DENY",
          "cross-origin-opener-policy": "same-origin",
        });
    });

    it("are sent with the max-age from publicMaxAgeSeconds", async () => {
      for (const publicMaxAgeSeconds of [0, 60]) {
        await using test = await start({ app: express(), publicMaxAgeSeconds });
        const { headers } = await request(test.url).get("/style.css");
        expect(headers["cache-control"]).to.equal(`public, max-age=${publicMaxAgeSeconds}`);
      }
    });

    it("are not sent by an api service, even if the working directory has a folder public", async () => {
      await using test = await startService({ app: express(), routes });
      expect((await request(test.url).get("/style.css")).status).to.equal(404);
    });

    it("are found by the path, which is decoded once", async () => {
      await using test = await start({ app: express() });
      expect((await request(test.url).get("/with%20space.txt")).text).to.equal("spaced");
      expect((await request(test.url).get("/10%25.txt")).text).to.equal("ten");
      expect((await request(test.url).get("/%252e%252e/outside.txt")).status).to.equal(404);
    });

    it("PROF-7 are sent for HEAD without a body", async () => {
      await using test = await start({ app: express() });
      const { headers, body } = await raw(test.port, "/style.css", "HEAD");
      expect(body).to.equal("");
      expect(headers).to.include({ "content-length": "21", "cache-control": "public, max-age=3600" });
    });

    it("PROF-7 are replaced by 304 for conditional requests, without the headers of data responses", async () => {
      await using test = await start({ app: express() });
      for (const path of ["/style.css", "/deep/page.html"]) {
        const { headers } = await request(test.url).get(path);
        for (const condition of [
          { "If-None-Match": String(headers["etag"]) },
          { "If-Modified-Since": String(headers["last-modified"]) },
        ]) {
          const again = await request(test.url)
            .get(path)
            .set(condition as Record<string, string>);
          expect([again.status, again.text], path).to.deep.equal([304, ""]);
          expect(again.headers).to.include({
            etag: headers["etag"],
            "cache-control": "public, max-age=3600",
          });
          // The policy of data responses would replace the policy of the cached page.
          expect(again.headers["content-security-policy"]).to.equal(policy);
          for (const name of ["x-frame-options", "referrer-policy", "content-type"])
            expect(again.headers).not.to.have.property(name);
        }
      }
      const stale = await request(test.url).get("/style.css").set("If-Match", '"other"');
      expect([stale.status, stale.type]).to.deep.equal([412, "application/problem+json"]);
    });

    it("are sent in part with 206 for a range, and with a 416 problem for a range outside the file", async () => {
      await using test = await start({ app: express() });
      const part = await request(test.url).get("/style.css").set("Range", "bytes=0-3");
      expect([part.status, part.text, part.headers["content-range"]]).to.deep.equal([
        206,
        "body",
        "bytes 0-3/21",
      ]);
      const beyond = await request(test.url).get("/style.css").set("Range", "bytes=99-");
      expect([beyond.status, beyond.type, beyond.headers["content-range"]]).to.deep.equal([
        416,
        "application/problem+json",
        "bytes */21",
      ]);
      expect(beyond.headers).to.include({ "cache-control": "no-store" });
      expect(beyond.headers).not.to.have.property("etag");
    });

    it("PROF-7 never replace a system endpoint", async () => {
      for (const env of ["local", "prod"]) {
        await using test = await start({ app: express(), env: { SVC_ENV: env }, toml: "drain_delay = 0\n" });
        for (const path of ["/health", "/ready", "/info", "/metrics"]) {
          const { status, text } = await request(test.url).get(path);
          expect(text, path).not.to.equal("a file");
          expect(status, path).to.equal(env === "prod" && path === "/info" ? 404 : 200);
        }
      }
    });

    it("PROF-7 come before the application's routes, which get all other requests", async () => {
      await using test = await start({
        app: express(),
        routes(app) {
          routes(app);
          app.post("/style.css", (_req, res) => void res.send("posted"));
        },
      });
      const { body } = await request(test.url).get("/own").responseType("blob");
      expect(String(body)).to.equal("a file");
      expect((await request(test.url).get("/behind")).text).to.equal("a route");
      expect((await request(test.url).post("/style.css")).text).to.equal("posted");
      const missing = await request(test.url).get("/missing.css");
      expect([missing.status, missing.type]).to.deep.equal([404, "application/problem+json"]);
    });

    it("are served after the application's middleware, which can reject the request", async () => {
      const closed = (_req: unknown, res: { status(code: number): { end(): void } }): void =>
        res.status(401).end();
      await using test = await start({ app: express(), middleware: [closed as never] });
      expect((await request(test.url).get("/style.css")).status).to.equal(401);
    });

    it("PROF-7 do not include dotfiles, and folders are neither listed nor redirected", async () => {
      await using test = await start({ app: express() });
      for (const path of [
        "/.secret",
        "/%2esecret",
        "/.well-known/x.txt",
        "/deep/.env",
        "/deep/%2Eenv",
        "/st%79le.css",
        "/%68ealth",
        "/deep/page%2Ehtml",
        "/deep",
        "/deep/",
        "/.",
      ]) {
        const { status, body } = await raw(test.port, path);
        expect(status, path).to.equal(404);
        expect(body, path).not.to.contain("hidden");
      }
    });

    it("PROF-7 cannot be escaped by any encoding of a path", async () => {
      await using test = await start({ app: express() });
      const up = [
        "..",
        "%2e%2e",
        ".%2e",
        "%2E.",
        "..;",
        "..%00",
        "..%5c..",
        "..\\..",
        "deep/../..",
        "deep%2f..%2f..",
        "%c0%ae%c0%ae",
      ];
      const targets = up.flatMap((each) => [
        `/${each}/outside.txt`,
        `//${each}/outside.txt`,
        `/${each}%2foutside.txt`,
      ]);
      for (const target of [
        ...targets,
        `http://x/../outside.txt`,
        `${root}/outside.txt`,
        `/${root}/outside.txt`,
      ]) {
        const { status, body } = await raw(test.port, target);
        expect(status, target).to.be.within(400, 404);
        expect(body, target).not.to.match(/^outside/);
      }
    });

    it("have exactly one path each", async () => {
      await using test = await start({ app: express() });
      for (const target of [
        "/deep%2fpage.html",
        "/deep%2Fpage.html",
        "/deep%5cpage.html",
        "/deep\\page.html",
        "//style.css",
        "/deep//page.html",
        "/./style.css",
        "/x/../style.css",
        "/style.css/",
        "/style.css%00",
        "/style.css%00.html",
        "/%00",
        "/%",
        "/%ff",
      ]) {
        const { status, body } = await raw(test.port, target);
        expect(status, target).to.be.within(400, 404);
        expect(body, target).to.contain('"request_id"');
      }
    });
  });

  it("are found if publicDir is a file URL or a path relative to the working directory, such as the default", async () => {
    await using byUrl = await start({ publicDir: pathToFileURL(folder) });
    expect((await request(byUrl.url).get("/style.css")).status).to.equal(200);
    const before = process.cwd();
    process.chdir(root);
    try {
      for (const publicDir of ["public", undefined]) {
        await using byPath = await start({ publicDir });
        expect((await request(byPath.url).get("/style.css")).status, publicDir).to.equal(200);
      }
    } finally {
      process.chdir(before);
    }
  });

  it("are optional: without publicDir and a folder public, none are served", async () => {
    await using test = await start({ publicDir: undefined });
    expect((await request(test.url).get("/style.css")).status).to.equal(404);
  });

  it("are refused with 403 without a tenant under require_tenant, unless their path is exempt", async () => {
    const tenancy = `[plugins]
enabled = ["tenancy"]
[plugin.tenancy]
sources = ["header"]
require_tenant = true
exempt_paths = ["/style.css"]
`;
    await using test = await start({ toml: tenancy });
    expect((await request(test.url).get("/style.css")).status).to.equal(200);
    expect((await request(test.url).get("/worker.js")).status).to.equal(403);
  });

  it("have the route template public/* in metrics", async () => {
    await using test = await start({});
    await request(test.url).get("/style.css");
    await request(test.url).get("/deep/page.html");
    const { text } = await request(test.url).get("/metrics");
    expect(text).to.contain('"public/*"').and.not.to.contain("style.css");
  });

  it("have no content policy with security_headers = false", async () => {
    await using test = await start({ toml: "security_headers = false\n" });
    expect((await request(test.url).get("/style.css")).headers).not.to.have.property(
      "content-security-policy",
    );
  });

  it("are not required in a worker: a missing publicDir is not an error", async () => {
    const toml = '[plugins]\nenabled = ["metrics"]\n';
    const options = { kind: "web", role: "worker", publicDir: "nowhere", toml } as const;
    const error = await startService(options).then(
      () => expect.fail("a worker without work started"),
      (fault: Error) => fault.message,
    );
    expect(error).to.contain("worker has no work").and.not.to.contain("publicDir");
  });
});
