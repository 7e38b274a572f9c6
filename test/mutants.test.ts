import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { mutants } from "./mutants/index.ts";
import { mutantsOf } from "./mutants/mutant.ts";
import { rules } from "./rules.ts";

const root = join(import.meta.dirname, "..");
const done: ReadonlySet<string> = new Set(
  rules.filter(({ status }) => status === "done").map(({ id }) => id),
);

describe("the list of mutants", () => {
  it("covers exactly the done rules", () => {
    expect(Object.keys(mutants).toSorted()).to.deep.equal([...done].toSorted());
  });

  it("gives a reason for each rule without a mutant", () => {
    for (const [id, entry] of Object.entries(mutants)) {
      if ("none" in entry) expect(entry.none, id).to.match(/\S.*\S/);
      else expect(mutantsOf(entry), id).not.to.deep.equal([]);
    }
  });

  it("changes one place in one file per mutant", () => {
    for (const [id, entry] of Object.entries(mutants)) {
      for (const { file, find, replace } of mutantsOf(entry)) {
        expect(file, id).to.match(/^(?:\.ci|packages|examples|bench|experiments|scripts|test)\/.*/);
        const source = readFileSync(join(root, file), "utf8");
        const places = source.split(find).length - 1;
        expect(places, `${id}: how often ${file} has ${JSON.stringify(find)}`).to.equal(1);
        expect(replace, id).not.to.equal(find);
      }
    }
  });
});

describe("npm run mutants", () => {
  for (const [option, value] of [
    ["--jobs", "0"],
    ["--jobs", "two"],
    ["--sample", "0"],
    ["--sample", "1.5"],
  ] as const) {
    it(`exits with 1 for the invalid option ${option} ${value}`, () => {
      const args = ["scripts/mutants.mjs", "--rule", "LOG-1", option, value];
      const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
      expect([status, stderr]).to.satisfy(
        ([code, text]: [number, string]) =>
          code === 1 && text.includes(`${option} must be a whole number from 1; got "${value}"`),
      );
    });
  }
});
