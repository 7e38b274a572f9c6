import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { contractLines } from "./contract-lines.ts";
import { contract, readContract, rules } from "./rules.ts";

const root = join(import.meta.dirname, "..");
const ids: ReadonlySet<string> = new Set(rules.map(({ id }) => id));

describe("the list of rules", () => {
  it("gives every rule a unique id", () => {
    expect(rules.map(({ id }) => id).sort()).to.deep.equal([...ids].sort());
    for (const { id } of rules) expect(id).to.match(/^[A-Z]+-[1-9]\d*$/);
  });

  it("gives every rule a title and a package, and every done rule an existing package", () => {
    for (const { id, title, package: owner, status } of rules) {
      expect(title, id).to.match(/\S.*\S/);
      expect(owner, id).to.match(/^[a-z][a-z/-]*$/);
      if (status !== "done") continue;
      const folders = [join(root, "packages", owner), join(root, owner)];
      expect(
        folders.some((folder) => existsSync(folder)),
        `${id}: folder ${owner}`,
      ).to.equal(true);
    }
  });
});

describe("docs/contract.md", () => {
  it("classifies every line, and gives every rule its owner and title", () => {
    expect(contract.unclassified).to.deep.equal([]);
    expect(rules.length).to.be.above(420);
  });

  it("refers only to existing rules", () => {
    expect([...contract.mentioned].filter((id) => !ids.has(id))).to.deep.equal([]);
  });
});

describe("readContract()", () => {
  const comment = "  <!-- ab, inside, planned: Title: one line -->\n";
  const head = `# Title\n\nIntroduction.\n\n## One part\n\n- **AB-1** (decision, full) First.\n${comment}`;

  it("reads id, section, marks, owner and title of a rule, and its text with the indented lines below it", () => {
    const read = readContract(`${head}\n  | a | b |\n\n  \`\`\`json\n  {}\n  \`\`\`\n`);
    expect(read.rules).to.deep.equal([
      {
        id: "AB-1",
        title: "Title: one line",
        text: "First.\n\n| a | b |\n\n```json\n{}\n```",
        contract: { section: "one-part", source: "decision", mark: undefined },
        profile: "full",
        outside: false,
        status: "planned",
        package: "ab",
      },
    ]);
    expect(read.unclassified).to.deep.equal([]);
  });

  it("reads an unmarked rule with the defaults: both profiles, externally visible, done", () => {
    const [, rule] = readContract(`${head}- **AB-2** Second\n  line.\n  <!-- a/b: Two -->\n`).rules;
    expect(rule).to.deep.include({ id: "AB-2", text: "Second line.", package: "a/b", profile: "both" });
    expect(rule).to.deep.include({ outside: true, status: "done" });
    expect(rule?.contract).to.deep.include({ source: "contract", mark: undefined });
  });

  it("reads `stricter` and `differs` as marks of a decision", () => {
    for (const mark of ["stricter", "differs"]) {
      const [rule] = readContract(head.replace("decision, full", mark)).rules;
      expect(rule?.contract).to.deep.include({ source: "decision", mark });
      expect(rule?.profile).to.equal("both");
    }
  });

  it("reports a rule without a comment, or with two comments, as unclassified", () => {
    for (const text of [head.replace(comment, ""), `${head}${comment}`]) {
      const { rules: found, unclassified } = readContract(text);
      expect(found).to.deep.equal([]);
      expect(unclassified).to.deep.equal([{ line: 7, text: "- **AB-1** (decision, full) First." }]);
    }
  });

  it("accepts any line under the headings Informative and Left open", () => {
    const { unclassified } = readContract(
      `${head}\n### Left open: names\n\n- x\n\n## Informative\n\n| a |\n`,
    );
    expect(unclassified).to.deep.equal([]);
  });

  const loose = [
    "- A bullet without an id.",
    "| a | row |",
    "A paragraph.",
    "```\ncode\n```",
    "- **XY** no number",
    "- **XY-1** (later) unknown brackets",
  ];
  for (const text of loose) {
    it(`reports ${JSON.stringify(text)} as unclassified`, () => {
      const { unclassified } = readContract(`${head}\n${text}\n`);
      expect(unclassified).to.deep.equal([{ line: 10, text: text.split("\n")[0] }]);
    });
  }

  it("reports a rule in an informative section as unclassified", () => {
    const { unclassified } = readContract(
      `${head}\n## Informative\n\n- **AB-2** Second.\n  <!-- ab: Two -->\n`,
    );
    expect(unclassified.map(({ line }) => line)).to.deep.equal([12]);
  });
});

describe("the classified lines of the contract", () => {
  const named = new Set(
    Object.values(contractLines).flatMap((entry) => (typeof entry === "string" ? [] : entry)),
  );

  it("name only existing rules, and are identified by twelve hex digits", () => {
    expect([...named].filter((id) => !ids.has(id))).to.deep.equal([]);
    for (const hash of Object.keys(contractLines)) expect(hash).to.match(/^[0-9a-f]{12}$/);
  });

  it("cover every rule of the list", () => {
    expect([...ids].filter((id) => !named.has(id))).to.deep.equal([]);
  });
});

describe("npm run rules", () => {
  const script = join(root, "scripts/rules.mjs");
  let folder = "";

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-rules-"));
    write("package.json", '{ "type": "module" }');
    write("test/rules.ts", listOf(["AB-1", "done"], ["AB-2", "done"], ["AB-3", "planned"]));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  function run(...args: readonly string[]): { readonly code: number | null; readonly out: string } {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, "--root", folder, ...args], {
      encoding: "utf8",
    });
    return { code: status, out: stdout + stderr };
  }

  it("prints the tests of each rule and exits 0 when every done rule is named", () => {
    write("packages/ab/test/a.test.ts", 'describe("AB-1 one", () => {});\nit("AB-1 AB-2 both", () => {});\n');
    const { code, out } = run();
    expect(out).to.match(/^AB-1 +done +ab +2 +ab\/test\/a\.test\.ts$/m);
    expect(out).to.match(/^AB-2 +done +ab +1 /m);
    expect(out).to.match(/^AB-3 +planned +ab +0$/m);
    expect(out).to.include("3 rules: 2 done, 2 of them named by tests; 1 planned");
    expect(code).to.equal(0);
  });

  it("exits 1 for a done rule that no test names", () => {
    write("packages/ab/test/a.test.ts", 'it("AB-1 one", () => {});\n');
    const { code, out } = run("--missing");
    expect(out).to.include("no test names AB-2 (ab): Title of AB-2");
    expect(out).not.to.match(/^AB-1 /m);
    expect(code).to.equal(1);
  });

  it("does not count a skipped test, an empty test, a comment or a longer id as a proof of AB-2", () => {
    write("test/a.test.ts", 'it("AB-1 one", () => {});\nit.skip("AB-2 two", () => {});\nit("AB-2 later");\n');
    write("test/b.test.ts", '// it("AB-2 two", () => {});\nconst title = "AB-2";\n');
    const { code, out } = run();
    expect(out).to.include("no test names AB-2");
    expect(code).to.equal(1);
  });

  it("exits 1 for a test that names a rule that does not exist", () => {
    write("bench/a.test.ts", "it(`AB-1, AB-2 and AB-21`, () => {});\n");
    const { code, out } = run();
    expect(out).to.include("no such rule AB-21, in bench/a.test.ts");
    expect(code).to.equal(1);
  });

  it("searches packages, examples, bench, experiments and test, but not build output or installed packages", () => {
    const places = ["packages/x/test", "examples/x/test", "bench", "experiments/x", "test"];
    for (const place of [...places, "test/dist", "packages/x/test/node_modules/y", "packages/x/src"]) {
      write(`${place}/a.test.ts`, 'it("AB-1 AB-2", () => {});\n');
    }
    const { rules: found } = JSON.parse(run("--json").out) as {
      rules: readonly { readonly id: string; readonly tests: Readonly<Record<string, number>> }[];
    };
    expect(Object.keys(found[0]?.tests ?? {})).to.have.members(places.map((place) => `${place}/a.test.ts`));
  });

  it("prints the missing and unknown rules as JSON", () => {
    write("test/a.test.ts", 'it("AB-1 AB-9", () => {});\n');
    const { code, out } = run("--json");
    const result = JSON.parse(out) as { readonly missing: unknown; readonly unknown: unknown };
    expect(result.missing).to.deep.equal(["AB-2"]);
    expect(result.unknown).to.deep.equal([{ id: "AB-9", file: "test/a.test.ts", title: "AB-1 AB-9" }]);
    expect(code).to.equal(1);
  });

  it("checks only one section with --section, and rejects an unknown section", () => {
    write("test/a.test.ts", 'it("AB-1", () => {});\n');
    expect(run("--section", "of-ab-1")).to.deep.include({ code: 0 });
    expect(run("--section", "of-ab-2")).to.deep.include({ code: 1 });
    expect(run("--section", "nowhere").out).to.include('No section "nowhere" contains rules');
  });

  it("exits 1 for an unclassified line in one of the given texts (--contract)", () => {
    write("test/contract-lines.ts", 'export const contractLines = { "2d711642b726": "informative" };\n');
    write("good.txt", "\n  x  \n");
    write("bad.txt", "x\n- new line\n");
    expect(run("--contract", join(folder, "good.txt"))).to.deep.include({ code: 0 });
    const { code, out } = run("--contract", join(folder, "good.txt"), join(folder, "bad.txt"));
    expect(out).to.include(`unclassified: ${join(folder, "bad.txt")}:2: - new line`);
    expect(out).to.include("3 lines, 1 unclassified; 0 classified lines are in none of these texts");
    expect(code).to.equal(1);
    expect(run("--contract").out).to.include("Name the texts to compare");
  });

  it("reads the rules of this repository", () => {
    const out = execFileSync(process.execPath, [script, "--json", "--section", "tracing"], {
      encoding: "utf8",
    });
    expect((JSON.parse(out) as { readonly rules: unknown }).rules).to.have.length.above(0);
  });
});

function listOf(...entries: readonly (readonly [id: string, status: string])[]): string {
  const list = entries.map(([id, status]) => ({
    id,
    title: `Title of ${id}`,
    contract: { section: `of-${id.toLowerCase()}`, source: "contract" },
    profile: "both",
    outside: true,
    status,
    package: "ab",
  }));
  return `export const rules = ${JSON.stringify(list)};\n`;
}
