import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "chai";

const root = join(import.meta.dirname, "..");

/** Returns the exit code and the report of commitlint for one message. */
function lint(message: string): { readonly status: number | null; readonly report: string } {
  const { status, stdout } = spawnSync("commitlint", [], { cwd: root, input: message, encoding: "utf8" });
  return { status, report: stdout };
}

describe("the rules for commit messages", function () {
  this.timeout(30_000);

  it("accept a conventional commit", () => {
    expect(lint("fix(search-store): lock the index folder against a second process").status).to.equal(0);
  });

  it("accept a body with long lines, such as a list of changed texts", () => {
    expect(
      lint(`docs(tenancy): say plainly what is returned\n\nChanged texts: ${"a ".repeat(200)}`).status,
    ).to.equal(0);
  });

  for (const [message, rule] of [
    ["lock the index folder", "type-empty"],
    [`fix(sql): ${"a".repeat(63)}`, "header-max-length"],
    ["fixes(sql): lock the index folder", "type-enum"],
    ["fix(sql):", "subject-empty"],
    ["fix(sql)!: lock the index folder", "subject-exclamation-mark"],
  ] as const) {
    it(`refuse "${message}" (${rule})`, () => {
      const { status, report } = lint(message);
      expect(status).to.equal(1);
      expect(report).to.include(`[${rule}]`);
    });
  }
});
