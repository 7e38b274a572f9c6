import { loadTest } from "@svc/load-test";
import { expect } from "chai";
import { resolveOptions } from "../src/options.ts";
import { readReadiness } from "../src/readiness.ts";
import type { Readiness } from "../src/report.ts";
import { startRawTarget, writeForever } from "./support/raw-target.ts";
import { startTarget } from "./support/target.ts";
import { listen } from "@svc/test-support";

const limits = { ms: 100, bytes: 10_000 };

async function readinessOf(checks: unknown, token?: string): Promise<Readiness> {
  await using target = await startTarget({ checks: checks as Record<string, unknown> });
  return await readReadiness(resolveOptions({ url: target.url, token }));
}

describe("/ready after a step", () => {
  it("LOAD-5 is read after each step, and checks that are not ok are reported with the step", async () => {
    const checks = {
      database: { healthy: true, detail: "", critical: true },
      cache: { healthy: false, detail: "the cache does not answer", critical: false },
    };
    await using target = await startTarget({ checks });
    const report = await loadTest({ url: target.url, clients: [1, 2], seconds: 0.1, warmUpSeconds: 0 });
    const notOk = [{ name: "cache", detail: "the cache does not answer", isCritical: false }];
    expect(report.steps.map(({ readiness }) => readiness)).to.deep.equal([
      { failure: null, notOk },
      { failure: null, notOk },
    ]);
    expect(target.requests.filter(({ line }) => line === "GET /ready")).to.have.length(2);
  });

  it("LOAD-5 reports a check whose status is not ok, or that has no status and is not healthy", async () => {
    const { notOk } = await readinessOf({
      a: { status: "ok", healthy: false },
      b: { status: "timeout", healthy: true, detail: "late", critical: true },
      c: { healthy: true },
      d: {},
      e: null,
      f: "ok",
    });
    expect(notOk.map(({ name }) => name)).to.deep.equal(["b", "d", "e", "f"]);
    expect(notOk[0]).to.deep.equal({ name: "b", detail: "late", isCritical: true });
  });

  it("LOAD-5 truncates names and details, and removes control characters and the token", async () => {
    const { notOk } = await readinessOf(
      { "a\u001b[31m": { healthy: false, detail: `secret-token-1\r\n${"x".repeat(300)}` } },
      "secret-token-1",
    );
    expect(notOk[0]?.name).to.equal("a [31m");
    expect(notOk[0]?.detail).to.match(/^\[token\] x{191}…$/);
  });

  it("LOAD-5 reports at most 50 checks", async () => {
    const checks = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`c${at}`, { healthy: false }]));
    expect((await readinessOf(checks)).notOk).to.have.length(50);
  });

  it("LOAD-5 reports a response without checks with its status", async () => {
    for (const [body, status] of [
      ["nothing", 404],
      ["[]", 200],
      ['{"checks":1}', 503],
      ["x".repeat(20_000), 200],
    ] as const) {
      await using target = await listen((_, res) => res.writeHead(status).end(body));
      const { failure, notOk } = await readReadiness(resolveOptions({ url: target.url }), limits);
      expect(failure).to.equal(`GET /ready answered ${status} without checks`);
      expect(notOk).to.deep.equal([]);
    }
  });

  it("LOAD-5 is reported as failed after its own time limit", async () => {
    await using target = await startRawTarget((socket) =>
      writeForever(socket, "HTTP/1.1 103 Early Hints\r\n\r\n"),
    );
    const settings = resolveOptions({ url: `${target.url}/v1` });
    expect((await readReadiness(settings, limits)).failure).to.equal(
      "GET /v1/ready did not answer within 0.1 s",
    );
  });

  it("LOAD-5 reports a connection that ends before the response", async () => {
    await using target = await startRawTarget((socket) => socket.destroy());
    const { failure } = await readReadiness(resolveOptions({ url: `${target.url}/v1` }), limits);
    expect(failure).to.match(/^GET \/v1\/ready failed: /);
  });
});
