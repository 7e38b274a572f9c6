import { readFileSync } from "node:fs";
import { codeBlocks, runSample } from "@svc/test-support";
import { expect } from "chai";
import { format } from "prettier";
import { flagTable } from "../src/flags.ts";
import { readCommandLine } from "../src/command-line.ts";
import { startTarget } from "./support/target.ts";

const readme = new URL("../README.md", import.meta.url);
const markdown = readFileSync(readme, "utf8");
const width = { printWidth: 110, parser: "markdown" };

describe("README of @svc/load-test", function () {
  this.timeout(60_000);

  it("has a sample that loads a service, prints the report and reports a break", async () => {
    for (const [status, exitCode] of [
      [200, 0],
      [503, 1],
    ] as const) {
      await using target = await startTarget({ answer: (_, res) => res.writeHead(status).end() });
      const replace = {
        "http://localhost:8000": target.url,
        "seconds: 5": "seconds: 0.1, warmUpSeconds: 0, maxP99Ms: 60_000",
      };
      await using sample = await runSample(readme, 0, { replace });
      const { code, stdout } = await sample.ended;
      expect(code).to.equal(exitCode);
      expect(stdout).to.match(/^ +16 .* (ok|BROKEN)$/m);
    }
  });

  it("LOAD-2 lists all flags with their defaults", async () => {
    const [, listed = ""] = /<!-- flags -->\n([^]*)<!-- \/flags -->/.exec(markdown) ?? [];
    expect(listed.trim()).to.equal((await format(flagTable(), width)).trim());
  });

  it("has command lines that are valid", () => {
    const lines = codeBlocks(markdown, "sh").flatMap((block) => block.trim().split("\n"));
    const commands = lines.filter((line) => line.startsWith("npx @svc/load-test "));
    expect(commands).to.have.length(4);
    for (const line of commands) {
      const words = line
        .replace(/ > \S+$/, "")
        .split(" ")
        .slice(2);
      const given = words.map((word) => word.replace(/^'(.*)'$/, "$1"));
      expect(readCommandLine(given)?.options.url, line).to.equal("http://localhost:8000");
    }
  });

  it("lists all options of loadTest()", () => {
    const source = readFileSync(new URL("../src/options.ts", import.meta.url), "utf8");
    const [, members = ""] = /export interface LoadTestOptions \{([^]*?)\n\}/.exec(source) ?? [];
    const options = [...members.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name);
    const [, table = ""] = /<!-- load-options -->([^]*?)\n\n`/.exec(markdown) ?? [];
    expect([...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name)).to.deep.equal(options);
    expect(options).to.have.length(16);
  });
});
