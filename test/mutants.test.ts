import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { mutants } from "./mutants/index.ts";
import { rules } from "./rules.ts";

const root = join(import.meta.dirname, "..");
const done: ReadonlySet<string> = new Set(
  rules.filter(({ status }) => status === "done").map(({ id }) => id),
);

describe("the list of mutants", () => {
  it("has a mutant, or the reason for none, for every rule that is done, and for no other", () => {
    expect(Object.keys(mutants).toSorted()).to.deep.equal([...done].toSorted());
  });

  it("changes one place of one source file per mutant", () => {
    for (const [id, mutant] of Object.entries(mutants)) {
      if ("none" in mutant) {
        expect(mutant.none, id).to.match(/\S.*\S/);
        continue;
      }
      const { file, find, replace } = mutant;
      expect(file, id).to.match(/^(?:\.ci|packages|examples|bench|experiments|scripts|test)\/.*/);
      const source = readFileSync(join(root, file), "utf8");
      expect(source.split(find).length - 1, `${id}: how often ${file} has ${JSON.stringify(find)}`).to.equal(
        1,
      );
      expect(replace, id).not.to.equal(find);
    }
  });
});
