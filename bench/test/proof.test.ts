import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import express from "express";
import { expect } from "chai";
import { Registry } from "prom-client";
import { startCrew } from "../harness/crew.ts";
import { httpCases } from "../http/cases.ts";
import { httpSubject } from "../http/http-subject.ts";
import { createLogTap } from "../http/log-tap.ts";
import { type Claims, proofOf } from "../http/proof.ts";
import { addRoute } from "../http/route.ts";

describe("the correctness check of a case of the http benchmark", () => {
  const tap = createLogTap();
  const untrue: readonly (readonly [string, Claims])[] = [
    ["X-Request-ID", { requestId: true }],
    ["requests counted", { registry: new Registry() }],
    ["lines at INFO", { log: { tap, logger: { level: "" }, level: "warn" } }],
    ["type of a problem", { problems: true }],
    ["ETag", { etag: false }],
    ["X-Content-Type-Options", { securityHeaders: true }],
    ["id of letters", { described: true }],
  ];
  for (const [what, claims] of untrue) {
    it(`fails when a claim is false: ${what}`, async () => {
      const app = express();
      addRoute(app);
      const proof = httpSubject(createServer(app), proofOf(claims)).prove();
      expect(await proof.catch((error: Error) => error.message)).to.include(what);
    });
  }

  it("fails when the response is not the expected JSON item", async () => {
    const proof = httpSubject(createServer((_req, res) => res.end("hello"))).prove();
    expect(await proof.catch((error: Error) => error.message)).to.include("media type");
  });

  it("rejects with the name of a case that does not start", async () => {
    const broken = { name: "broken", module: new URL("./no-such-file.ts", import.meta.url) };
    const start = startCrew([broken]).catch((error: Error) => error.message);
    expect(await start).to.match(/^broken: .*no-such-file/s);
  });

  it("succeeds for every case", async () => {
    const file = fileURLToPath(new URL("./support/prove-all.ts", import.meta.url));
    const child = spawn(process.execPath, ["--conditions=@svc/source", file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const proven = await text(child.stdout);
    expect(proven.trim().split("\n")).to.deep.equal(httpCases.map(({ name }) => name));
    expect(proven.trim().split("\n")).to.include.members(
      ["control", "node-http", "fastify", "bare-express4", "bare-express5", "bare-express5-tuned"].concat(
        ["peer-default", "peer-default-info", "packages", "packages-info"],
        ["svc-express", "svc-express-info", "svc-express-no-etag"],
      ),
    );
  }).timeout(60_000);
});
