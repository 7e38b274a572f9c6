import { once } from "node:events";
import { health } from "@svc/health";
import { expect } from "chai";
import request from "supertest";
import { check, deferred, settled } from "./support/checks.ts";
import { bare } from "./support/hosts.ts";

const about = { service: "orders", version: "1.2.3", env: "local" } as const;
const up = { healthy: true, detail: "up" };

describe("the readiness report", () => {
  it("RDY-4 is degraded and sent with 200 when only non-critical checks fail", async () => {
    const checks = [check("database", true, up), check("cache", false, { healthy: false, detail: "down" })];
    const answer = await request(bare(health({ ...about, checks }))).get("/ready");
    expect(answer.status).to.equal(200);
    expect(answer.body).to.have.property("status", "degraded");
    expect(answer.body).to.have.nested.property("checks.cache.status", "fail");
    expect(answer.body).to.have.nested.property("checks.cache.critical", false);
  });

  it("RDY-5 is unavailable and sent with 503 when a critical check fails, regardless of the other results", async () => {
    const down = { healthy: false, detail: "down" };
    const checks = [check("database", true, down), check("cache", false, down), check("auth", true, up)];
    const answer = await request(bare(health({ ...about, checks }))).get("/ready");
    expect(answer.status).to.equal(503);
    expect(answer.body).to.have.property("status", "unavailable");
  });

  it("RDY-2 uses `critical` of a check's result instead of the declared value", async () => {
    const checks = [
      check("queue", true, { healthy: false, detail: "2 job(s) in the dead-letter queue", critical: false }),
    ];
    expect(await health({ ...about, checks }).report()).to.have.property("status", "degraded");
    const worse = [check("auth", false, { healthy: false, detail: "no key", critical: true })];
    expect(await health({ ...about, checks: worse }).report()).to.have.property("status", "unavailable");
  });

  it("RDY-8 RDY-11 contains the status `timeout` for a check that takes longer than 2.0 s, the default", async () => {
    const checks = [check("database", true, () => new Promise(() => {}))];
    const report = await health({ ...about, checks }).report();
    expect(report).to.deep.equal({
      status: "unavailable",
      service: "orders",
      checks: {
        database: {
          healthy: false,
          status: "timeout",
          detail: "health check did not answer within 2.0s",
          critical: true,
        },
      },
    });
  });

  it("RDY-7 contains the declared `critical` of checks that time out or throw", async () => {
    const hang = (): Promise<never> => new Promise(() => {});
    const raise = (): never => {
      throw new TypeError("boom");
    };
    const checks = [check("slow", false, hang), check("broken", false, raise)];
    const optional = await health({ ...about, checks, readinessTimeoutSeconds: 0.02 }).report();
    expect(optional.status).to.equal("degraded");
    expect(optional.checks["slow"]).to.include({ status: "timeout", critical: false });
    expect(optional.checks["slow"]).to.include({ detail: "health check did not answer within 0.02s" });
    expect(optional.checks["broken"]).to.include({ status: "error", critical: false });
    const vital = await health({ ...about, checks: [check("broken", true, raise)] }).report();
    expect(vital.status).to.equal("unavailable");
    expect(vital.checks["broken"]).to.deep.equal({
      healthy: false,
      status: "error",
      detail: "health check raised: TypeError",
      critical: true,
    });
  });

  it("RDY-8 is complete after one deadline while a check hangs, because all checks run in parallel", async () => {
    const asked: string[] = [];
    const hang = check("a", false, () => {
      asked.push("a");
      return new Promise(() => {});
    });
    const quick = check("b", true, () => {
      asked.push("b");
      return up;
    });
    const report = health({ ...about, checks: [hang, quick], readinessTimeoutSeconds: 0.05 }).report();
    expect(asked).to.deep.equal(["a", "b"]);
    const { status, checks } = await report;
    expect(status).to.equal("degraded");
    expect(checks["b"]).to.include({ status: "ok" });
    expect(checks["a"]).to.include({ status: "timeout" });
  });

  it("contains the status `timeout` for a check that throws after its signal was aborted at the deadline", async () => {
    let reason: unknown;
    const obedient = check("db", true, async (signal) => {
      await once(signal, "abort");
      reason = signal.reason;
      throw new Error("cancelled");
    });
    const { checks } = await health({
      ...about,
      checks: [obedient],
      readinessTimeoutSeconds: 0.02,
    }).report();
    expect(reason).to.be.instanceOf(Error);
    expect(checks["db"]).to.include({ status: "timeout" });
  });

  it("RDY-8 contains the status `timeout` for a pending check, which is not started again until it has settled", async () => {
    let asked = 0;
    let answer = deferred<typeof up>();
    const slow = check("slow", true, () => {
      asked++;
      return answer.promise;
    });
    const middleware = health({ ...about, checks: [slow], readinessTimeoutSeconds: 0.02, reuseMs: 0 });
    for (let run = 0; run < 5; run++) {
      expect((await middleware.report()).checks["slow"]).to.include({ status: "timeout" });
    }
    expect(asked).to.equal(1);
    answer.resolve(up);
    await settled();
    answer = deferred();
    answer.resolve(up);
    expect((await middleware.report()).checks["slow"]).to.include({ status: "ok" });
    expect(asked).to.equal(2);
  });

  it("RDY-9 is shared by concurrent callers, for whom the checks run only once", async () => {
    let asked = 0;
    const answer = deferred<typeof up>();
    const middleware = health({
      ...about,
      reuseMs: 0,
      checks: [
        check("db", true, () => {
          asked++;
          return answer.promise;
        }),
      ],
    });
    const reports = Array.from({ length: 50 }, () => middleware.report());
    answer.resolve(up);
    for (const report of await Promise.all(reports)) expect(report.status).to.equal("ok");
    expect(asked).to.equal(1);
  });

  it("RDY-10 is reused for 1 s, even when a check failed", async () => {
    for (const healthy of [true, false]) {
      let now = 5_000;
      let asked = 0;
      const counted = check("db", true, () => {
        asked++;
        return { healthy, detail: String(asked) };
      });
      const middleware = health({ ...about, checks: [counted], now: () => now });
      await middleware.report();
      now += 999;
      expect((await middleware.report()).checks["db"]).to.include({ detail: "1" });
      now += 1;
      expect((await middleware.report()).checks["db"]).to.include({ detail: "2" });
      expect(asked).to.equal(2);
    }
  });

  it("RDY-9 RDY-10 needs at most 3 runs of a check that takes 100 ms, for 100 clients that poll for 2 s", async () => {
    let now = 0;
    let asked = 0;
    let answered = 0;
    let due: { at: number; resolve: (value: typeof up) => void } | undefined;
    const slow = check("db", true, () => {
      asked++;
      const { promise, resolve } = deferred<typeof up>();
      due = { at: now + 100, resolve };
      return promise;
    });
    const middleware = health({ ...about, checks: [slow], now: () => now });
    // Each poller waits for its response, and sends its next request at least 10 ms later.
    const waiting = Array.from({ length: 100 }, () => false);
    for (; now < 2_000; now += 10) {
      if (due !== undefined && due.at <= now) {
        due.resolve(up);
        due = undefined;
      }
      for (const [poller, busy] of waiting.entries()) {
        if (busy) continue;
        waiting[poller] = true;
        void middleware.report().then(({ status }) => {
          expect(status).to.equal("ok");
          waiting[poller] = false;
          answered++;
        });
      }
      await settled();
    }
    expect(asked).to.be.within(1, 3);
    expect(answered).to.be.greaterThan(10_000);
  });

  it("contains the status `error` for a malformed check result, and marks the check unhealthy", async () => {
    const junk: unknown[] = [
      undefined,
      null,
      true,
      "ok",
      [],
      {},
      { healthy: "yes", detail: "" },
      { healthy: true },
      { healthy: true, detail: 42 },
      { healthy: true, detail: "", critical: "no" },
      { healthy: true, detail: "", meta: "text" },
    ];
    for (const result of junk) {
      const { status, checks } = await health({
        ...about,
        checks: [check("odd", true, () => result)],
      }).report();
      expect(status, JSON.stringify(result)).to.equal("unavailable");
      expect(checks["odd"]).to.deep.equal({
        healthy: false,
        status: "error",
        detail: "health check returned no valid result",
        critical: true,
      });
    }
  });

  it("contains only the numbers, booleans, nulls and short strings of `meta`", async () => {
    const meta = {
      waiting: 3,
      url: "redis://a:canary@b/0",
      deep: { secret: "canary" },
      none: null,
      up: true,
    };
    const { checks } = await health({
      ...about,
      checks: [check("db", true, { healthy: true, meta })],
    }).report();
    expect(checks["db"]?.meta).to.deep.equal({ waiting: 3, url: "redis://b/0", none: null, up: true });
    const nothing = await health({
      ...about,
      checks: [check("db", true, { healthy: true, meta: { deep: {} } })],
    }).report();
    expect(nothing.checks["db"]).not.to.have.property("meta");
  });

  it("lists the checks in the order in which they were added, and includes an added check from the next run on", async () => {
    const middleware = health({ ...about, checks: [check("z", true, up)], reuseMs: 0 });
    expect(Object.keys((await middleware.report()).checks)).to.deep.equal(["z"]);
    middleware.addCheck(check("a", true, { healthy: false }));
    const { status, checks } = await middleware.report();
    expect(Object.keys(checks)).to.deep.equal(["z", "a"]);
    expect(status).to.equal("unavailable");
  });
});
