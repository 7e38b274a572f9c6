import { checkConformance, type ConformanceOptions } from "@svc/conformance";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { runProgram } from "../src/program.ts";
import { outcomeOf } from "../src/outcome.ts";
import { asJUnit } from "../src/report.ts";
import { resolveSettings } from "../src/resolve-settings.ts";
import { startHollow } from "./support/hollow-service.ts";

/**
 * Runs the program against a service without routes of its own. Returns the exit code and the last line of the output.
 */
async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly last: string }> {
  await using hollow = await startHollow();
  let stdout = "";
  let stderr = "";
  const code = await runProgram([hollow.url, ...args], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  expect(stderr).to.equal("");
  return { code, last: stdout.trimEnd().split("\n").at(-1) ?? "" };
}

describe("svc-conformance with required coverage", () => {
  const counts =
    "15 passed, 0 failed, 103 not applicable: no rule of the contract is broken, 15 of 118 rules checked";
  const notSeen =
    "not covered: auth, dependencies, failing, federated, gateway, hook, invalid, key_set, keys, limited, log, mixed, openapi, otlp, " +
    "outbound, protected, rate_limit, replica, role, rotation, scoped, session, store, telemetry, templated, tenancy, tenant, upstream";

  it("exits with 3 for a service with only the four system routes, and names what was not covered", async () => {
    const { code, last } = await run();
    expect(last).to.contain(`${counts}; 103 rules not applicable, at most 59 allowed; ${notSeen}`);
    expect(code).to.equal(3);
  });

  it("exits with 0 when --max-not-applicable equals the number of rules that are not applicable", async () => {
    const { code, last } = await run("--max-not-applicable", "103");
    expect(last).to.contain(`${counts}; ${notSeen}`);
    expect(code).to.equal(0);
  });

  it("exits with 3 when more rules are not applicable than --max-not-applicable allows", async () => {
    const { code, last } = await run("--max-not-applicable", "102");
    expect(last).to.contain("; 103 rules not applicable, at most 102 allowed; ");
    expect(code).to.equal(3);
  });

  it("exits with 3 when required features were not covered, and names them", async () => {
    const { code, last } = await run(
      "--max-not-applicable",
      "103",
      "--require",
      "session",
      "--require",
      "metrics,openapi",
    );
    expect(last).to.contain(
      `${counts}; no rule was checked for these names in --require: session, openapi; not covered: `,
    );
    expect(code).to.equal(3);
  });

  it("exits with 1 when a rule is broken and a required feature is missing too", async () => {
    const { code, last } = await run("--house", "--only", "COR-8,AUTH-14", "--require", "session");
    expect(last).to.contain("no rule was checked for these names in --require: session");
    expect(code).to.equal(1);
  });

  async function report(options: Omit<ConformanceOptions, "url">) {
    await using hollow = await startHollow();
    return await checkConformance({ ...options, url: hollow.url });
  }

  it("counts rules that `only` excludes as not checked", async () => {
    const { verdict, conforms, findings } = await report({ only: ["SYS-1", "SYS-5", "ENV-2"] });
    expect([verdict, conforms]).to.deep.equal([
      "no rule of the contract is broken, 3 of 118 rules checked",
      true,
    ]);
    expect(findings[0]?.text).to.match(/^`GET \/health` answers 200/);
  });

  it("reports that the service meets the contract when every applicable rule was checked", async () => {
    const { findings } = await report({ only: ["SYS-5", "SYS-6", "PROF-2"], maxNotApplicable: 2 });
    expect(findings.map(({ verdict }) => verdict.status)).to.include.members(["pass", "not applicable"]);
    const settings = resolveSettings({ url: "http://localhost", maxNotApplicable: 2 });
    const { verdict, conforms } = outcomeOf(settings, findings, [], findings.length, 0);
    expect([verdict, conforms]).to.deep.equal(["the service meets the contract", true]);
  });

  it("rejects invalid values of the options `require` and `maxNotApplicable`", async () => {
    const wrong: object = { require: "session", maxNotApplicable: 3 };
    expect((await rejection(report(wrong))).message).to.equal("require: must be a list of strings");
    expect((await rejection(report({ maxNotApplicable: 0.5, require: ["cors"] }))).message).to.match(
      /^require: "cors" is unknown; expected one of auth, .*\nmaxNotApplicable: must be a whole number of at least 0; it is 0\.5/,
    );
  });

  it("reports a required name that was not covered in `shortfalls` and as a failing JUnit test case", async () => {
    const seen = await report({ only: ["SYS-1", "AUTH-14"], require: ["auth"] });
    expect([seen.conforms, seen.failed, seen.total]).to.deep.equal([false, 0, 2]);
    expect(seen.verdict).to.equal("no rule of the contract is broken, 1 of 118 rules checked");
    expect(seen.shortfalls).to.deep.equal(["no rule was checked for these names in --require: auth"]);
    expect(seen.notSeen).to.deep.equal(["auth", "keys", "protected"]);
    expect(asJUnit(seen))
      .to.match(/tests="3" failures="1" skipped="1"/)
      .and.contain(
        'name="enough rules were checked" time="0"><failure message="no rule was checked for these names in --require: auth"/>',
      );
  });
});
