import {
  checkConformance,
  type ConformanceOptions,
  type ConformanceReport,
  InvalidUse,
} from "@svc/conformance";
import { testRedis } from "@svc/dev-services";
import { createService, type Service } from "@svc/express";
import { requireAuth } from "@svc/jwt-auth";
import { expect } from "chai";
import { secret } from "./support/bases.ts";
import { failures, messagesOf } from "./support/judge.ts";

const toml = (url: string, prefix: string): string => `
[service]
name = "tested"
port = 0
drain_delay = 0
[plugins]
enabled = ["observability", "metrics", "cache", "auth"]
[plugin.cache]
url = "${url}"
key_prefix = "${prefix}"
[plugin.auth]
mode = "secret"
algorithms = ["HS256"]
issuer = "https://issuer.example"
audience = "tested"
issue_tokens = true
refresh_grace_seconds = 2
`;

/** Starts one replica of a service that `createService()` assembles from the packages. */
async function startReplica(config: string): Promise<Service> {
  const service = await createService({
    config: { toml: config },
    env: { SVC_AUTH_SECRET: secret },
    signals: false,
    logDestination: { write: () => undefined },
    routes(app, { issuer }) {
      app.get("/mine", requireAuth(), (_req, res) => void res.json({}));
      app.post("/sign-in", async (_req, res) => {
        res.json(await issuer?.issuePair({ subject: "ann", scopes: ["orders:read"], roles: ["admin"] }));
      });
    },
  });
  await service.start();
  return service;
}

const urlOf = ({ address }: Service): string => `http://127.0.0.1:${address?.port}`;

describe("two replicas of a service", function () {
  this.timeout(180_000);
  const redis = testRedis();
  const options: Omit<ConformanceOptions, "url"> = {
    house: true,
    keys: { algorithm: "HS256", secret, issuer: "https://issuer.example", audience: "tested" },
    probes: { protected: "/mine", session: { request: "POST /sign-in", graceSeconds: 2 } },
  };

  async function check(other: string): Promise<ConformanceReport> {
    await using first = await startReplica(toml(redis.url, "one:"));
    await using second = await startReplica(toml(redis.url, other));
    return await checkConformance({ ...options, url: urlOf(first), replica: urlOf(second) });
  }

  it("REV-3 REV-11 REF-19 conform when they share a Redis server", async () => {
    const report = await check("one:");
    expect(messagesOf(failures(report))).to.deep.equal([]);
    const passed = report.findings.filter(({ verdict }) => verdict.status === "pass").map(({ id }) => id);
    expect(passed).to.include.members("REV-3 REV-11 REF-19 REF-4 REF-5 REF-6 REF-7 REF-14 RDY-16".split(" "));
  });

  it("REV-11 REF-19 fail REV-11 and REF-19 when each replica has its own store", async () => {
    const failed = failures(await check("two:")).map(({ id }) => id);
    expect(failed).to.have.members(["REV-11", "REF-19"]);
  });

  it("are checked for most rules without signing keys", async () => {
    await using first = await startReplica(toml(redis.url, "one:"));
    const report = await checkConformance({ ...options, keys: undefined, url: urlOf(first) });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    const passed = report.findings.filter(({ verdict }) => verdict.status === "pass").map(({ id }) => id);
    expect(passed).to.include.members("ISS-5 ISS-10 REF-1 REF-6 REF-13".split(" ")).and.not.include("REF-12");
  });

  it("are not checked when the second replica does not accept the sessions of the first: an error explains why", async () => {
    await using first = await startReplica(toml(redis.url, "one:"));
    await using stranger = await startReplica(
      toml(redis.url, "one:").replace('"tested"\nissue', '"else"\nissue'),
    );
    const fault: unknown = await checkConformance({
      ...options,
      url: urlOf(first),
      replica: urlOf(stranger),
    }).catch((error: unknown) => error);
    expect(fault).to.be.instanceOf(InvalidUse);
    expect((fault as InvalidUse).faults).to.deep.equal([
      "probes.session: the route of the second replica returned 401 for a signed-in user",
    ]);
  });

  it("are not checked when sign-in fails: an error explains why", async () => {
    await using first = await startReplica(toml(redis.url, "one:"));
    const fault: unknown = await checkConformance({
      ...options,
      probes: { session: { request: "POST /sign-inn" } },
      url: urlOf(first),
    }).catch((error: unknown) => error);
    expect((fault as InvalidUse).faults).to.deep.equal([
      "probes.session: the sign-in returned 404 without a token pair",
    ]);
  });
});
