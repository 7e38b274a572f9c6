import { checkConformance, type Finding } from "@svc/conformance";
import { freePort } from "@svc/dev-services";
import { expect } from "chai";
import { json } from "./mutations/report-changes.ts";
import { type Differences, startUnderTest } from "./support/service-under-test.ts";

type Verdicts = Readonly<Record<string, Finding["verdict"]>>;

/** The kit no longer receives spans when the service stops, so the service does not wait for their export. */
const impatient: Differences = {
  toml: [["\n[plugins]", "\n[plugin.telemetry]\nshutdown_timeout = 0.1\n\n[plugins]"]],
};

/** Checks the rules about a service that exports no spans. */
async function check(replica: Differences = {}, replicaUrl?: string): Promise<Verdicts> {
  await using tested = await startUnderTest("halfTraced", { ...impatient, replica });
  const { options } = tested;
  const { findings } = await checkConformance({
    ...options,
    replica: replicaUrl ?? options.replica,
    only: ["COR-15", "GW-2", "TRACE-5"],
  });
  return Object.fromEntries(findings.map(({ id, verdict }) => [id, verdict]));
}

const notApplicable = {
  "COR-15": { status: "not applicable", reason: "the service exports spans", ruledOut: true },
  "GW-2": { status: "not applicable", reason: "the service exports spans" },
  "TRACE-5": { status: "not applicable", reason: "the service has an endpoint", ruledOut: true },
};

describe("the rules about a service that exports no spans, for a service that exports them", function () {
  this.timeout(60_000);

  it("COR-15 GW-2 TRACE-5 are checked at a second replica that exports none", async () => {
    const pass = { status: "pass" };
    expect(await check()).to.deep.equal({ "COR-15": pass, "GW-2": pass, "TRACE-5": pass });
  });

  it("COR-15 GW-2 TRACE-5 are not applicable when the second replica does not report that it exports none", async () => {
    const unreported = json("/ready", (body) => {
      delete (body["checks"] as Record<string, object>)["telemetry"];
    });
    expect(await check(unreported)).to.deep.equal(notApplicable);
  });

  it("COR-15 GW-2 TRACE-5 are not applicable when the second replica does not respond", async () => {
    expect(await check({}, `http://127.0.0.1:${await freePort()}`)).to.deep.equal(notApplicable);
  });

  it("COR-15 GW-2 are not applicable when no request of the second replica reaches the kit", async () => {
    const verdicts = await check({
      request(req, res) {
        if (!/^\/(?:outbound|behind)/.test(req.url ?? "")) return false;
        res.writeHead(502).end();
        return true;
      },
    });
    expect(verdicts).to.deep.equal({
      "COR-15": { status: "not applicable", reason: "no outbound call of the second replica arrived" },
      "GW-2": {
        status: "not applicable",
        reason: "the service behind the gateway received no request",
      },
      "TRACE-5": { status: "pass" },
    });
  });
});
