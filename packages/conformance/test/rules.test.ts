import { notChecked, rules } from "@svc/conformance";
import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { checks } from "../src/checks/index.ts";

/**
 * The members of a rule in docs/contract.md that this test reads. Their type cannot be imported, because the parser
 * (test/rules.ts) belongs to no package.
 */
interface Listed {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly contract: { readonly section: string; readonly source: string; readonly mark?: string };
  readonly profile: string;
  readonly outside: boolean;
}

describe("the kit's list of rules", () => {
  const own = new Map(rules.map((rule) => [rule.id, rule]));
  let allRules: readonly Listed[] = [];
  before(async () => {
    const list = new URL("../../../test/rules.ts", import.meta.url).href;
    ({ rules: allRules } = (await import(list)) as { rules: readonly Listed[] });
  });

  it("matches docs/contract.md (npm run rules -- --write updates it)", async () => {
    const script = new URL("../../../scripts/kit-rules.mjs", import.meta.url).href;
    const { kitRules } = (await import(script)) as {
      readonly kitRules: (all: readonly Listed[]) => Promise<string>;
    };
    expect(await readFile(new URL("../rules.json", import.meta.url), "utf8")).to.equal(
      await kitRules(allRules),
    );
  });

  it("contains the rules that are visible from outside, with title, text, section, source and profile", () => {
    expect(rules.length).to.be.above(220);
    const listed = new Map(allRules.map((rule) => [rule.id, rule]));
    for (const rule of rules) {
      const { id, title, text, contract, profile, outside } = listed.get(rule.id) ?? {};
      expect(outside, rule.id).to.equal(true);
      expect(rule).to.deep.equal({
        id,
        title,
        text,
        section: contract?.section,
        source: contract?.source === "contract" ? "contract" : "house",
        stricter: contract?.mark === "stricter",
        profile,
      });
      expect(rule.text, rule.id).to.have.length.above(rule.title.length / 4);
    }
    expect(own.get("LOG-1")?.text).to.equal(
      "Every log entry is one JSON object on one line of standard output.",
    );
    expect(own.get("ERR-2")?.text).to.match(/^A problem has these members:\n\n\| Member .*\n\| -+/);
  });

  it("has for every rule either one check or one reason why it is not checked", () => {
    const checked = checks.map(({ rule }) => rule);
    expect(new Set(checked).size).to.equal(checked.length);
    const excused = notChecked.flatMap((each) => each.rules);
    expect([...checked, ...excused].toSorted()).to.deep.equal([...own.keys()].toSorted());
    for (const { reason } of notChecked) expect(reason).to.match(/\w+ \w+/);
  });
});
