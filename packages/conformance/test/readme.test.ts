import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { notChecked } from "@svc/conformance";
import { codeBlocks, runSample } from "@svc/test-support";
import { expect } from "chai";
import { runProgram } from "../src/program.ts";
import { privatePem } from "./support/bases.ts";
import { loopClock } from "./support/loop-clock.ts";
import { readmeTables } from "./support/readme-tables.ts";
import { startUnderTest } from "./support/service-under-test.ts";

const url = new URL("../README.md", import.meta.url);

/**
 * Runs the command line with `--house`. It measures time with the loop clock, because the service runs in the same
 * event loop.
 */
async function run(args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string }> {
  let stdout = "";
  const output = {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: () => undefined },
  };
  const code = await runProgram([...args, "--house"], output, { now: loopClock });
  return { code, stdout };
}

/** Returns the arguments of a README command, with its URLs replaced and its files located in `folder`. */
function argumentsOf(
  command: string,
  folder: string,
  urls: Readonly<Record<string, string>>,
): readonly string[] {
  const words = command.trim().split(" ").slice(2);
  return words.map((word) => urls[word] ?? (/^[\w-]+\.(?:json|log)$/.test(word) ? join(folder, word) : word));
}

describe("the README", function () {
  this.timeout(180_000);

  it("shows a command that checks a service with files for keys and probes", async () => {
    const readme = await readFile(url, "utf8");
    const [command = ""] = codeBlocks(readme, "sh");
    const [keys = "", probes = ""] = codeBlocks(readme, "json");
    const folder = await mkdtemp(join(tmpdir(), "svc-conformance-"));
    try {
      await writeFile(join(folder, "issuer.pem"), privatePem);
      await writeFile(join(folder, "keys.json"), keys);
      await writeFile(join(folder, "probes.json"), probes);
      await using tested = await startUnderTest("full");
      const log = tested.options.log as () => string;
      await writeFile(join(folder, "service.log"), "an older line\n");
      let written = 0;
      // Copy in sequence: this keeps the order of lines and writes none after the folder is removed.
      let copied = Promise.resolve();
      const copying = setInterval(() => {
        const text = log();
        const more = text.slice(written);
        copied = copied.then(() => writeFile(join(folder, "service.log"), more, { flag: "a" }));
        written = text.length;
      }, 50);
      const urls = { "http://localhost:8000": tested.options.url };
      const { code, stdout } = await run(argumentsOf(command, folder, urls));
      clearInterval(copying);
      await copied;
      expect(stdout.match(/^FAIL.*\n.*\n.*/gm) ?? []).to.deep.equal([]);
      expect(stdout).to.match(/\d{2,} passed, 0 failed/);
      expect(code).to.equal(0);
      expect(stdout)
        .to.match(/^pass {2}LOG-3 /m)
        .and.match(/^pass {2}TEN-6 /m)
        .and.match(/^pass {2}RDY-5 /m);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("shows how to check a service with sessions and two replicas", async () => {
    const readme = await readFile(url, "utf8");
    const command = codeBlocks(readme, "sh").find((each) => each.includes("--replica")) ?? "";
    const probes = codeBlocks(readme, "json").find((each) => each.includes('"session"')) ?? "";
    const folder = await mkdtemp(join(tmpdir(), "svc-conformance-"));
    try {
      await writeFile(join(folder, "probes.json"), probes);
      await using tested = await startUnderTest("issuing");
      const { keys, url: first, replica = "" } = tested.options;
      await writeFile(join(folder, "keys.json"), JSON.stringify(keys));
      const urls = { "http://localhost:8000": first, "http://localhost:8001": replica };
      const { code, stdout } = await run(argumentsOf(command, folder, urls));
      expect(stdout.match(/^FAIL.*\n.*\n.*/gm) ?? []).to.deep.equal([]);
      expect(code, stdout.trimEnd().split("\n").at(-1)).to.equal(0);
      for (const id of [
        "REF-6",
        "REF-10",
        "REF-11",
        "REF-15",
        "REF-16",
        "REF-17",
        "REF-19",
        "REV-4",
        "REV-11",
      ]) {
        expect(stdout).to.match(new RegExp(`^pass +${id} `, "m"));
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("shows how to check a service in code", async () => {
    await using tested = await startUnderTest("full");
    await using sample = await runSample(url, 0, {
      replace: { "http://localhost:8000": tested.options.url },
    });
    const { code, stdout, stderr } = await sample.ended;
    expect(stderr).to.equal("");
    expect(code).to.equal(0);
    expect(stdout)
      .to.match(/^pass {2}ERR-7 /m)
      .and.match(/^true \d+ 0 \[/m);
  });

  it("lists the rules that are not checked, with the reasons", async () => {
    const readme = await readFile(url, "utf8");
    for (const { rules, reason } of notChecked) {
      expect(readme.replaceAll(/ +/g, " ")).to.contain(`| ${rules.join(", ")} | ${reason} |`);
    }
  });

  it("documents exactly the options of the kit", async () => {
    const lines = (await readFile(url, "utf8")).split("\n").map((line) => line.replaceAll(/ +/g, " "));
    for (const rows of readmeTables()) {
      const at = lines.indexOf(rows[0] ?? "");
      expect(lines.slice(at, lines.indexOf("", at))).to.deep.equal(rows);
    }
  });

  it("has a counterpart in src/ that lists every source file", async () => {
    const sources = new URL("../src/", import.meta.url);
    const files = [...(await readdir(sources)), ...(await readdir(new URL("checks/", sources)))];
    const listed = (await readFile(new URL("README.md", sources), "utf8")).matchAll(/^\| `([\w-]+\.ts)`/gm);
    expect([...listed].map(([, file]) => file)).to.have.members(files.filter((file) => file.endsWith(".ts")));
  });
});
