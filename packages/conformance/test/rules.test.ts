import { notChecked, rules } from "@svc/conformance";
import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { checks } from "../src/checks/index.ts";

const covered = new Set(
  "config dev-services health json-body log metrics problem request-id express database jwt-auth tenancy cache token-store token-issuer oidc-login".split(
    " ",
  ),
);

/** A rule of the repository's own list, which belongs to no package. */
interface Listed {
  readonly id: string;
  readonly title: string;
  readonly contract: { readonly section: string; readonly source: string; readonly mark?: string };
  readonly profile: string;
  readonly outside: boolean;
  readonly package: string;
}

describe("the kit's list of rules", () => {
  const own = new Map(rules.map((rule) => [rule.id, rule]));
  let allRules: readonly Listed[] = [];
  let visible: readonly Listed[] = [];
  before(async () => {
    const list = new URL("../../../test/rules.ts", import.meta.url).href;
    ({ rules: allRules } = (await import(list)) as { rules: readonly Listed[] });
    visible = allRules.filter((rule) => rule.outside && covered.has(rule.package));
  });

  it("has exactly the rules of the covered packages that are visible from outside", () => {
    expect(visible.length).to.be.above(220);
    expect([...own.keys()].toSorted()).to.deep.equal(visible.map(({ id }) => id).toSorted());
  });

  it("agrees with the contract on title, section, source and profile", () => {
    for (const { id, title, contract, profile } of visible) {
      expect(own.get(id), id).to.deep.equal({
        id,
        title,
        text: own.get(id)?.text,
        section: contract.section,
        source: contract.source === "contract" ? "contract" : "house",
        stricter: contract.mark === "stricter",
        profile,
      });
    }
  });

  it("has the text of every rule as in docs/contract.md: node scripts/rule-texts.mjs writes it", async () => {
    const script = new URL("../../../scripts/rule-texts.mjs", import.meta.url).href;
    const { currentModule } = (await import(script)) as {
      readonly currentModule: () => Promise<string>;
    };
    const file = new URL("../src/rule-texts.ts", import.meta.url);
    expect(await readFile(file, "utf8")).to.equal(await currentModule());
    for (const { id, title, text } of rules) expect(text, id).to.have.length.above(title.length / 4);
    expect(own.get("LOG-1")?.text).to.equal(
      "Every log entry is one JSON object on one line of standard output.",
    );
    expect(own.get("ERR-2")?.text).to.match(/^A problem has these members:\n\n\| Member .*\n\| -+/);
  });

  it("has one check or one reason for every rule", () => {
    const checked = checks.map(({ rule }) => rule);
    expect(new Set(checked).size).to.equal(checked.length);
    const excused = notChecked.flatMap((each) => each.rules);
    expect([...checked, ...excused].toSorted()).to.deep.equal([...own.keys()].toSorted());
    for (const { reason } of notChecked) expect(reason).to.match(/\w+ \w+/);
  });

  it("omits the rules of packages that are not covered yet", () => {
    expect(allRules.length).to.be.above(300);
    const later = allRules.filter((rule) => rule.outside && !covered.has(rule.package));
    expect(later.filter(({ id }) => own.has(id))).to.deep.equal([]);
  });
});
