import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { testDatabase, testRedis } from "@svc/dev-services";
import { createMemoryTokenStore } from "@svc/token-store";
import express from "express";
import { expect } from "chai";
import type { BenchOptions } from "../harness/bench.ts";
import { createInjector } from "../harness/injector.ts";
import { createIssuer } from "../http/tokens.ts";
import { addRoute, openTraffic } from "../http/route.ts";
import { boundVerdicts, type Figure, figuresOf, tokens } from "../tokens/bench.ts";
import { caseNames, chosen, type Group, groupsOf, uses } from "../tokens/groups.ts";
import { IN_FLIGHT, inFlight } from "../tokens/in-flight.ts";
import { createIssuing, type Issuing, provePairs } from "../tokens/issuing.ts";
import { proveRotation } from "../tokens/subjects/refreshes.ts";
import { proveVerifications, verifierOf, type Verifying } from "../tokens/subjects/verifications.ts";

const servers = { redis: { url: "redis://here", keyPrefix: "" }, postgres: { url: "postgres://there" } };

const fault = async (proof: Promise<void>): Promise<string> =>
  proof.then(
    () => "proven",
    (error: Error) => error.message,
  );

describe("the tokens benchmark", function () {
  this.timeout(60_000);
  const redis = testRedis();
  const database = testDatabase({ name: "bench" });

  it("proves the claims of every case", async () => {
    const file = fileURLToPath(new URL("./support/prove-tokens.ts", import.meta.url));
    const { url, keyPrefix } = redis;
    const places = JSON.stringify({ redis: { url, keyPrefix }, postgres: { url: database.url } });
    const child = spawn(process.execPath, ["--conditions=@svc/source", file, places], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const proven = (await text(child.stdout)).trim().split("\n");
    expect(proven.filter((name) => !name.startsWith("control-"))).to.deep.equal(caseNames);
    expect(proven.filter((name) => name.startsWith("control-"))).to.have.length(5);
  });

  it("prints its results as JSON lines, and checks no limits with --quick", async () => {
    const printed: string[] = [];
    const noted: string[] = [];
    const options: BenchOptions = {
      json: true,
      quick: true,
      socket: false,
      record: false,
      only: ["hs256"],
      rounds: 2,
      print: (line) => void printed.push(line),
      note: (line) => void noted.push(line),
    };
    // With two rounds the run may be void. With `--quick` this is reported, but does not change the exit code.
    expect(await tokens.run(options)).to.equal(0);
    expect(noted.at(-1)).to.equal("--quick: bounds are not judged");
    const figures = printed.map((line) => JSON.parse(line) as Figure & { bench: string });
    expect(figures.map(({ bench, case: name, metric, unit }) => [bench, name, metric, unit])).to.deep.equal([
      ["tokens", "hs256", "pairs_per_s", "per_s"],
      ["tokens", "hs256", "us_per_op", "us"],
      ["tokens", "control-hs256", "paired-ratio", "ratio"],
    ]);
    expect(figures.every(({ value }) => value > 0)).to.equal(true);
  });

  it("rejects an unknown case and lists the known ones, and starts only the needed servers", async () => {
    const groups = groupsOf(servers);
    expect(() => chosen(groups, ["nothing"])).to.throw(
      "there is no case nothing; there are hs256, rs256, es256, eddsa, memory, redis, postgres, redis-check",
    );
    const names = (only: readonly string[]): readonly string[] =>
      chosen(groups, only).flatMap(({ cases }) => cases.map(({ name }) => name));
    expect(names(["es256"])).to.deep.equal(["hs256", "es256", "control-hs256"]);
    expect(names(["redis-check"])).to.deep.equal(["redis-check", "no-check", "control-redis-check"]);
    const used = (only: readonly string[]): readonly boolean[] => [
      uses(chosen(groups, only), "redis"),
      uses(chosen(groups, only), "postgres"),
    ];
    expect(used(["rs256", "memory"])).to.deep.equal([false, false]);
    expect(used(["redis"])).to.deep.equal([true, false]);
    expect(used(["postgres", "redis-check"])).to.deep.equal([true, true]);
    expect(used(["verify-rs256-fast-jwt"])).to.deep.equal([false, false]);
  });

  it("computes medians, and added costs from lower quartiles", () => {
    const times = new Map([
      ["ours", { cpu: [30, 20, 25, 20, 90], wall: [50, 40, 60, 1000, 50] }],
      ["without", { cpu: [10, 10, 10, 12, 12], wall: [10, 10, 10, 10, 10] }],
      ["again", { cpu: [33, 22, 27.5, 22, 99], wall: [50, 40, 60, 1000, 50] }],
    ]);
    const group: Group = {
      perSecond: "refreshes_per_s",
      cases: [],
      controls: { base: "ours", names: ["again"] },
      added: { case: "ours", to: "without", boundUs: 15 },
    };
    const figures = figuresOf(group, times);
    expect(figures).to.deep.equal([
      { case: "ours", metric: "refreshes_per_s", value: 20_000, unit: "per_s" },
      { case: "ours", metric: "us_per_op", value: 25, unit: "us" },
      { case: "ours", metric: "added_us", value: 10, unit: "us" },
      { case: "without", metric: "refreshes_per_s", value: 100_000, unit: "per_s" },
      { case: "without", metric: "us_per_op", value: 10, unit: "us" },
      { case: "again", metric: "paired-ratio", value: 1.1, unit: "ratio" },
    ]);
    expect(boundVerdicts(group, figures)).to.deep.equal([
      { mark: "ok", text: "ours adds 10 us to a request, bound at most 15" },
    ]);
    const strict: Group = { ...group, added: { case: "ours", to: "without", boundUs: 9 } };
    expect(boundVerdicts(strict, figures).map(({ mark }) => mark)).to.deep.equal(["FAIL"]);
    expect(boundVerdicts(group, []).map(({ mark }) => mark)).to.deep.equal(["FAIL"]);
  });

  it("keeps IN_FLIGHT calls in flight, and makes each call once", async () => {
    for (const count of [1, 31, 100]) {
      let [now, most, done] = [0, 0, 0];
      await inFlight(count, async () => {
        most = Math.max(most, ++now);
        await new Promise(setImmediate);
        now -= 1;
        done += 1;
      });
      expect([done, most]).to.deep.equal([count, Math.min(count, IN_FLIGHT)]);
    }
  });
});

describe("the proof of a case that verifies tokens", () => {
  const settings: readonly Verifying[] = (["svc", "fast-jwt"] as const).flatMap((by) =>
    (["HS256", "RS256"] as const).flatMap((algorithm) =>
      [true, false].map((isCached) => ({ by, algorithm, isCached })),
    ),
  );

  it("succeeds only when the case refuses invalid tokens and caches valid ones as it claims", () => {
    for (const setting of settings) {
      const issuer = createIssuer(setting.algorithm);
      const verify = verifierOf(setting, issuer);
      proveVerifications(verify, issuer, setting);
      const reversed = { ...setting, isCached: !setting.isCached };
      expect(() => proveVerifications(verify, issuer, reversed)).to.throw("the same object");
      expect(() => proveVerifications(() => ({}), issuer, { ...setting, isCached: false })).to.throw(
        "another signature accepted",
      );
    }
  });
});

describe("the proof of a case that issues or refreshes", () => {
  const issuing = createIssuing("ES256", createMemoryTokenStore());
  const { issuer } = issuing;

  it("fails when the tokens have another algorithm, or are always the same", async () => {
    expect(await fault(provePairs(issuing, "ES256"))).to.equal("proven");
    expect(await fault(provePairs(issuing, "HS256"))).to.include("the algorithm should be");
    const pair = await issuer.issuePair({ subject: "somebody" });
    const same: Issuing = { ...issuing, issuer: { ...issuer, issuePair: async () => pair } };
    expect(await fault(provePairs(same, "ES256"))).to.include("the subject of an access token");
  });

  it("fails when the case accepts an invalid token", async () => {
    const known = new Map<string, Awaited<ReturnType<Issuing["verify"]>>>();
    const careless: Issuing = {
      ...issuing,
      async verify(token) {
        const claims = token.split(".")[1] ?? "";
        const found = known.get(claims) ?? (await issuing.verify(token));
        known.set(claims, found);
        return found;
      },
    };
    expect(await fault(provePairs(careless, "ES256"))).to.include("the reason for refusing a bad signature");
  });

  it("fails when the case refreshes a used token, or a token of an ended session", async () => {
    expect(await fault(proveRotation(issuing))).to.equal("proven");
    const forgetful = createIssuing("HS256", {
      isRevoked: () => false,
      revoke: () => undefined,
      revokeFamily: () => undefined,
      revokeSubject: () => undefined,
      rotate: () => "rotated",
    });
    expect(await fault(proveRotation(forgetful))).to.include("a token that was used should be");
    const store = createMemoryTokenStore();
    const deaf = createIssuing("HS256", {
      isRevoked: () => false,
      revoke: () => undefined,
      revokeFamily: () => undefined,
      revokeSubject: () => undefined,
      rotate: (rotation) => store.rotate(rotation),
    });
    expect(await fault(proveRotation(deaf))).to.include("a session that was ended should be");
  });
});

describe("the injector", () => {
  it("keeps the given number of requests in flight", async () => {
    let [now, most, done] = [0, 0, 0];
    const app = express();
    app.use((_req, _res, next) => {
      most = Math.max(most, ++now);
      setImmediate(() => {
        now -= 1;
        done += 1;
        next();
      });
    });
    addRoute(app);
    const injector = createInjector(createServer(app));
    await injector.run(openTraffic.requests, 100, 8);
    expect([done, most]).to.deep.equal([100, 8]);
    await injector.run(openTraffic.requests, 3, 8);
    expect(done).to.equal(103);
  });
});
