import {
  checkConformance,
  type ConformanceOptions,
  type ConformanceReport,
  InvalidUse,
} from "@svc/conformance";
import { expect } from "chai";
import { Answer } from "../src/answer.ts";
import { checks } from "../src/checks/index.ts";
import type { Kit } from "../src/kit.ts";
import { resolveSettings } from "../src/resolve-settings.ts";
import { privatePem } from "./support/bases.ts";
import { startForeign } from "./support/foreign-service.ts";
import { foreignLifetimes } from "./support/foreign-sessions.ts";
import { failures, messagesOf } from "./support/judge.ts";

describe("a service that was written without these packages", function () {
  this.timeout(120_000);
  const options = {
    features: ["auth"] as const,
    keys: { algorithm: "RS256", privateKey: privatePem, audience: "foreign" } as const,
    probes: {
      open: "/open",
      protected: "/mine",
      scoped: { request: "/orders", scopes: ["read", "write"] },
      failing: { request: "/failing", message: "a secret of the service" },
      json: "POST /json",
    },
  };

  /** Starts the foreign service and checks it. */
  async function judged(
    more: Omit<ConformanceOptions, "url">,
    { path = "", scopeClaim = "scope" } = {},
  ): Promise<ConformanceReport> {
    await using foreign = await startForeign(path, scopeClaim);
    return await checkConformance({ ...more, url: `${foreign.url}${path}` });
  }

  it("conforms when it meets the contract but not the conventions", async () => {
    const report = await judged({ ...options, maxNotApplicable: 91 });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect(report.passed).to.be.above(25);
    expect(report.conforms).to.equal(true);
  });

  it("conforms when its session responses and tokens have another format", async () => {
    const session = {
      request: "POST /session",
      accessToken: "access",
      refreshToken: "refresh",
      route: "/mine",
      ...foreignLifetimes,
    };
    const report = await judged({ ...options, probes: { ...options.probes, session } });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    const passed = report.findings.filter(({ verdict }) => verdict.status === "pass").map(({ id }) => id);
    expect(passed).to.include.members(
      "CLAIM-2 CLAIM-3 ISS-3 ISS-4 ISS-5 ISS-6 ISS-7 REF-1 REF-3 REF-4 REF-5 REF-6 REF-7 REF-12 REF-14".split(
        " ",
      ),
    );
  });

  it("conforms when it reads scopes from a custom claim, and only from a string", async () => {
    const keys = { ...options.keys, scopeClaim: "perms" };
    const only = ["CLAIM-1", "CLAIM-5", "AUTH-13", "AUTH-15"];
    const report = await judged({ ...options, keys, only }, { scopeClaim: "perms" });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect(report.passed).to.equal(4);
  });

  it("conforms when the sign-in response nests the token pair in an object and refresh responses do not", async () => {
    const session = {
      request: "POST /session?wrapped",
      accessToken: "session.access",
      refreshToken: "session.refresh",
      route: "/mine",
      ...foreignLifetimes,
    };
    const report = await judged({
      ...options,
      probes: { ...options.probes, session },
      only: ["REF-1", "REF-3"],
    });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect(report.passed).to.equal(2);
  });

  it("is not checked for AUTH-15, which concerns several scopes, when the probe `scoped` names only one", async () => {
    const probes = { ...options.probes, scoped: { request: "/reads", scopes: ["read"] } };
    const { findings } = await judged({ ...options, probes, only: ["AUTH-15"] });
    expect(findings[0]?.verdict)
      .to.include({ status: "not applicable" })
      .and.to.have.property("reason")
      .that.matches(/one scope/);
  });

  it("may take its own request timeout plus the kit's time limit to respond to the probe `slow`", async () => {
    const settings = resolveSettings({
      url: "http://localhost",
      probes: { slow: "/slow" },
      limits: { requestTimeoutSeconds: 20 },
      requestSeconds: 5,
    });
    let waitedMs = 0;
    const kit = {
      settings,
      has: () => false,
      ask: (_probe: unknown, { timeoutMs = 0 }: { readonly timeoutMs?: number }) => {
        waitedMs = timeoutMs;
        return Promise.resolve(new Answer(504, [], Buffer.alloc(0), 0));
      },
    } as unknown as Kit;
    const verdict = await checks.find(({ rule }) => rule === "LIM-4")?.run(kit);
    expect([verdict?.status, waitedMs]).to.deep.equal(["pass", 25_000]);
  });

  it("fails for broken conventions when the option `house` is set", async () => {
    const report = await judged({ ...options, house: true });
    const failed = failures(report);
    expect(failed.map(({ source }) => source))
      .to.include("house")
      .and.not.include("contract");
    expect(failed.map(({ id }) => id)).to.include.members(["COR-8", "ERR-4", "ERR-10", "ERR-12", "AUTH-21"]);
    expect(report.conforms).to.equal(false);
  });

  it("conforms when it is served below a path", async () => {
    const report = await judged(options, { path: "/team/foreign" });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect(report.passed).to.be.above(25);
  });

  it("is not checked when options or probes are unknown: a single error lists them", async () => {
    const wrong: object = { ...options, url: "http://127.0.0.1:9", probe: {}, probes: { opne: "/open" } };
    const fault: unknown = await checkConformance(wrong as ConformanceOptions).catch(
      (error: unknown) => error,
    );
    expect(fault).to.be.instanceOf(InvalidUse).with.property("code", "ERR_SVC_CONFORMANCE_USE");
    expect((fault as InvalidUse).faults).to.have.lengthOf(2);
    expect((fault as InvalidUse).message).to.match(/^probe: is unknown.*\nprobes\.opne: is unknown/);
  });

  it("is checked only for the rules in `only`, which may be conventions", async () => {
    const report = await judged({ ...options, only: ["SYS-1", "COR-8"] });
    expect(report.findings.map(({ id, verdict }) => [id, verdict.status])).to.deep.equal([
      ["SYS-1", "pass"],
      ["COR-8", "fail"],
    ]);
  });
});
