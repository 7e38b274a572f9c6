import { readFile } from "node:fs/promises";
import { unknownOption } from "@svc/options";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("README", () => {
  it("has a sample that prints the defaults and the quoted error", async () => {
    await using sample = await runSample(readme, 0);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    const [first, ...error] = stdout.trim().split("\n");
    expect(first).to.equal("{ limitBytes: 2097152, strict: false }");
    expect(await readFile(readme, "utf8")).to.contain(`\`\`\`\n${error.join("\n")}\n\`\`\``);
  });

  it("has a sample whose faults name an option as the user wrote it", async () => {
    await using sample = await runSample(readme, 1);
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout)
      .to.contain("{ url: 'redis://127.0.0.1', timeoutMs: 1000, prefix: undefined }")
      .and.to.contain('plugin.cache.url: must be a redis:// URL; it is "http://x"');
  });

  it("has a table of names that unknownOption() suggests", async () => {
    const rows = [
      ...(await readFile(readme, "utf8")).matchAll(/^\| `(\w+)` +\| `([\w ]+)` +\| .*(?:unit|word|name)/gm),
    ];
    expect(rows).to.have.length(5);
    for (const [, name = "", suggested = ""] of rows) {
      expect(unknownOption(name, ["strict", ...suggested.split(" or ")])).to.equal(
        `is unknown; did you mean ${suggested}?`,
      );
    }
  });
});
