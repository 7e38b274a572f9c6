import { exec } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { testDatabase } from "@svc/dev-services";
import { codeBlocks } from "@svc/test-support";
import { expect } from "chai";

const root = fileURLToPath(new URL("../../../", import.meta.url));

describe("README of jobs-from-a-script", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "jobs from a script" });

  it("JOB-9 JOB-12 quotes the output of its commands: a drained batch, a dead letter and its retry", async () => {
    const markdown = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const commands = codeBlocks(markdown, "sh");
    const outputs = codeBlocks(markdown, "text");
    expect(commands).to.have.length(3).and.to.have.length(outputs.length);
    for (const [index, block] of commands.entries()) {
      let output = "";
      for (const line of block.trim().split("\n")) {
        if (!line.startsWith("export ")) output += await run(line, database.url);
      }
      expect(linesOf(output), block).to.deep.equal(linesOf(outputs[index] ?? ""));
    }
  });
});

/** Runs a command of the README in the repository root. Packages are loaded from their sources. */
async function run(line: string, databaseUrl: string): Promise<string> {
  const { stdout } = await promisify(exec)(
    line.replace("dist/cli/command-line.js", "src/cli/command-line.ts"),
    {
      cwd: root,
      env: {
        ...process.env,
        PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
        NODE_OPTIONS: "--conditions=@svc/source",
        DATABASE_URL: databaseUrl,
      },
    },
  );
  return stdout;
}

/** Returns the lines of an output in sorted order, with every time replaced by a fixed one. */
function linesOf(text: string): string[] {
  return text
    .trim()
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, "2026-03-01 12:00")
    .split("\n")
    .toSorted();
}
