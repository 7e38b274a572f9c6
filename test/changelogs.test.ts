import { expect } from "chai";

interface Entry {
  readonly kind: string;
  readonly scopes: readonly string[];
  readonly text: string;
}

interface Changelogs {
  readonly entriesOf: (
    commit: { readonly subject: string; readonly body: string; readonly old?: boolean },
    wording?: string | null,
  ) => readonly Entry[];
  readonly changelogOf: (
    name: string,
    sections: readonly { readonly title: string; readonly entries: readonly Entry[] }[],
  ) => string;
}

interface SupportedVersions {
  readonly spoken: (range: string) => string;
}

describe("scripts/changelogs.mjs", () => {
  let entriesOf: Changelogs["entriesOf"];
  let changelogOf: Changelogs["changelogOf"];
  before(async () => {
    ({ entriesOf, changelogOf } = await script<Changelogs>("changelogs"));
  });

  it("lists only the feat, fix and perf commits of each scope", () => {
    expect(entriesOf({ subject: "feat(sql,database): lend one connection", body: "" })).to.deep.equal([
      { kind: "feat", scopes: ["sql", "database"], text: "Lend one connection" },
    ]);
    expect(entriesOf({ subject: "perf(sql): plan an insert once", body: "" })).to.have.lengthOf(1);
    for (const subject of ["refactor(sql): rename a file", "merge: two branches", "no convention"])
      expect(entriesOf({ subject, body: "" }), subject).to.deep.equal([]);
  });

  it("omits fixes that were committed before the first changelog", () => {
    expect(entriesOf({ subject: "fix(sql): end a wait", body: "", old: true })).to.deep.equal([]);
    expect(entriesOf({ subject: "feat(sql): end a wait", body: "", old: true })).to.have.lengthOf(1);
  });

  it("uses a commit's wording instead of its subject, and omits a commit whose wording is null", () => {
    const commit = { subject: "feat(sql): tests, readme", body: "" };
    expect(entriesOf(commit, "Add `jsonBytes`")[0]?.text).to.equal("Add `jsonBytes`");
    expect(entriesOf(commit, null)).to.deep.equal([]);
  });

  it("keeps the case of a code identifier at the start of a subject", () => {
    const [entry] = entriesOf({ subject: "feat(json-body): bodyLimit limits every body", body: "" });
    expect(entry?.text).to.equal("bodyLimit limits every body");
  });

  it("lists breaking changes and changed texts of commits of any type", () => {
    const body = [
      "Why it changes.",
      "",
      "Changed texts:",
      "- <name> is no name -> <name> is not",
      "  a name",
      "- one -> two",
      "",
      "BREAKING CHANGE: names end",
      "with a letter",
    ].join("\n");
    expect(entriesOf({ subject: "docs(sql): say what is wrong", body })).to.deep.equal([
      { kind: "breaking", scopes: ["sql"], text: "Names end with a letter" },
      { kind: "texts", scopes: ["sql"], text: "\\<name> is no name -> \\<name> is not a name" },
      { kind: "texts", scopes: ["sql"], text: "one -> two" },
    ]);
    const [marked] = entriesOf({ subject: "feat(sql)!: remove lend()", body: "" });
    expect(marked?.kind).to.equal("breaking");
  });

  it("groups the entries of each version by kind, without duplicates", () => {
    const entry = (kind: string, text: string) => ({ kind, scopes: ["sql"], text });
    const sections = [
      { title: "Unreleased", entries: [entry("fix", "One"), entry("feat", "Two"), entry("fix", "One")] },
      { title: "0.1.0 - 2026-01-02", entries: [] },
    ];
    expect(changelogOf("@svc/sql", sections)).to.equal(`# Changelog of @svc/sql

## Unreleased

### Added

- Two

### Fixed

- One

## 0.1.0 - 2026-01-02

Nothing that users notice.
`);
  });
});

describe("scripts/supported-versions.mjs", () => {
  it("describes version ranges in words", async () => {
    const { spoken } = await script<SupportedVersions>("supported-versions");
    expect(
      [">=22.19", ">=0.300.0 <1", "^4.21.0 || ^5.1.0", "^3.0.0", "^8.11.0", "^0.5.0", "^0.0.15"].map(spoken),
    ).to.deep.equal([
      "22.19 and later",
      "0.300.0 and later, below 1",
      "4.x from 4.21, 5.x from 5.1",
      "3.x",
      "8.x from 8.11",
      "0.5.x",
      "0.0.15",
    ]);
  });
});

async function script<Module>(name: string): Promise<Module> {
  return (await import(new URL(`../scripts/${name}.mjs`, import.meta.url).href)) as Module;
}
