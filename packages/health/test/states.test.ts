import { health, type ReadinessChange } from "@svc/health";
import { ConfigurationError } from "@svc/options";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import { check, deferred } from "./support/checks.ts";
import { bare } from "./support/hosts.ts";

const about = { service: "orders", version: "1.2.3", env: "local" } as const;

describe("health() with lifecycle states", () => {
  it("is in the state serving before setState() is first called", async () => {
    const middleware = health(about);
    expect(middleware.state()).to.equal("serving");
    await request(bare(middleware)).get("/ready").expect(200);
  });

  it("RDY-21 returns 503 and a failed critical check `startup` while starting, without running checks", async () => {
    let asked = 0;
    const database = check("database", true, () => {
      asked++;
      return { healthy: true, detail: "" };
    });
    const middleware = health({ ...about, checks: [database] });
    middleware.setState("starting");
    const server = bare(middleware);
    const answer = await request(server).get("/ready");
    expect(answer.status).to.equal(503);
    expect(answer.body).to.deep.equal({
      status: "unavailable",
      service: "orders",
      checks: { startup: { healthy: false, status: "fail", detail: "starting", critical: true } },
    });
    await request(server).get("/health").expect(200);
    expect(asked).to.equal(0);
    middleware.setState("serving");
    await request(server).get("/ready").expect(200);
  });

  it("RDY-20 RDY-21 returns 503 and a failed critical check `shutdown` while draining; /health still returns 200", async () => {
    const middleware = health({ ...about, checks: [check("database", true, { healthy: true })] });
    const server = bare(middleware);
    await request(server).get("/ready").expect(200);
    middleware.setState("draining");
    const answer = await request(server).get("/ready");
    expect(answer.status).to.equal(503);
    expect(answer.body).to.deep.equal({
      status: "unavailable",
      service: "orders",
      checks: { shutdown: { healthy: false, status: "fail", detail: "shutting down", critical: true } },
    });
    await request(server).get("/health").expect(200);
    await request(server).get("/info").expect(200);
  });

  it("RDY-20 reports `shutdown` to callers that wait for a check when draining begins", async () => {
    const answer = deferred<{ healthy: boolean; detail: string }>();
    const middleware = health({ ...about, checks: [check("database", true, () => answer.promise)] });
    const waiting = middleware.report();
    middleware.setState("draining");
    answer.resolve({ healthy: true, detail: "" });
    expect((await waiting).checks).to.have.all.keys("shutdown");
  });

  it("RDY-20 stays in the state draining when a start finishes after draining began", async () => {
    const middleware = health(about);
    middleware.setState("draining");
    middleware.setState("serving");
    middleware.setState("starting");
    expect(middleware.state()).to.equal("draining");
    expect((await middleware.report()).checks).to.have.all.keys("shutdown");
  });

  it("rejects an unknown state", () => {
    expect(() => health(about).setState("ready" as "serving"))
      .to.throw(ConfigurationError, /state: must be one of "starting", "serving", "draining"; it is "ready"/)
      .with.property("code", "ERR_SVC_CONFIGURATION");
  });
});

describe("readiness changes", () => {
  it("are each logged once, with the failing checks", async () => {
    const logger = collectingLogger();
    const result = { healthy: true, detail: "", critical: true };
    const middleware = health({
      ...about,
      logger,
      reuseMs: 0,
      checks: [check("db", true, () => ({ ...result }))],
    });
    const run = async (change: Partial<typeof result>): Promise<void> => {
      Object.assign(result, change);
      await middleware.report();
      await middleware.report();
    };
    await run({});
    expect(logger.lines).to.deep.equal([]);
    await run({ healthy: false, detail: "slow", critical: false });
    await run({ detail: "down", critical: true });
    await run({ healthy: true });
    expect(logger.lines).to.deep.equal([
      {
        level: "warn",
        fields: { readiness: "degraded", readiness_before: "ok", failing: ["db"] },
        message: "readiness is degraded: db (slow)",
      },
      {
        level: "error",
        fields: { readiness: "unavailable", readiness_before: "degraded", failing: ["db"] },
        message: "readiness is unavailable: db (down)",
      },
      {
        level: "info",
        fields: { readiness: "ok", readiness_before: "unavailable", failing: [] },
        message: "readiness is ok",
      },
    ]);
  });

  it("are passed to onChange, including changes to starting and draining", async () => {
    const changes: ReadinessChange[] = [];
    const middleware = health({ ...about, onChange: (change) => changes.push(change) });
    middleware.setState("starting");
    middleware.setState("serving");
    await middleware.report();
    middleware.setState("draining");
    expect(changes.map(({ from, to }) => [from, to])).to.deep.equal([
      [undefined, "unavailable"],
      ["unavailable", "ok"],
      ["ok", "unavailable"],
    ]);
    expect(changes.at(-1)?.report.checks).to.have.all.keys("shutdown");
  });

  it("are logged at level info when the service itself starts draining", () => {
    const logger = collectingLogger();
    health({ ...about, logger }).setState("draining");
    expect(logger.lines.map(({ level, message }) => [level, message])).to.deep.equal([
      ["info", "readiness is unavailable: shutdown (shutting down)"],
    ]);
  });

  it("do not fail the response or the shutdown when the logger throws", async () => {
    const fail = (): never => {
      throw new Error("the logger's");
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail, fatal: fail };
    const checks = [check("database", true, { healthy: false, detail: "down" })];
    const middleware = health({ ...about, checks, logger, onChange: fail });
    await request(bare(middleware)).get("/ready").expect(503);
    middleware.setState("draining");
    expect(middleware.state()).to.equal("draining");
  });

  it("do not fail the response when onChange throws, and the error is logged", async () => {
    const onChange = (): never => {
      throw new Error("boom");
    };
    for (const each of [onChange, async () => onChange()]) {
      const logger = collectingLogger();
      const checks = [check("db", true, { healthy: false, detail: "down" })];
      await request(bare(health({ ...about, checks, logger, onChange: (): void => each() as never })))
        .get("/ready")
        .expect(503);
      expect(logger.lines.map(({ message }) => message)).to.include("onChange of health() threw an error");
    }
  });
});
