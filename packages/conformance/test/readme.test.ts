import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { notChecked } from "@svc/conformance";
import { codeBlocks, runSample } from "@svc/test-support";
import { expect } from "chai";
import { privatePem } from "./support/bases.ts";
import { startUnderTest } from "./support/service-under-test.ts";

const url = new URL("../README.md", import.meta.url);
const program = fileURLToPath(new URL("../src/command-line.ts", import.meta.url));

/** How a program that judges a service ended. */
interface End {
  readonly code: number | null;
  readonly stdout: string;
}

/** Rules about delays: a sound service breaks them during an event-loop stall of a second, in it or in the kit. */
const punctuality: ReadonlySet<string> = new Set(["RDY-8", "RDY-10", "SYS-2"]);

/** Judges again when only rules about delays failed. Other or repeated failures stand. */
async function judged<T extends End>(judge: () => Promise<T>): Promise<T> {
  const end = await judge();
  const failed = [...end.stdout.matchAll(/^FAIL +(\S+)/gm)].map(([, id = ""]) => id);
  if (failed.length === 0 || !failed.every((id) => punctuality.has(id))) return end;
  process.stderr.write(`      judged once more, late at most: ${failed.join(", ")}\n`);
  return judge();
}

/** Runs the command line with the house rules. */
async function run(folder: string, args: readonly string[]): Promise<End> {
  const child = spawn(process.execPath, ["--conditions=@svc/source", program, ...args, "--house"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout };
}

describe("the README", function () {
  this.timeout(180_000);

  it("shows a command line that checks a service with its files", async () => {
    const readme = await readFile(url, "utf8");
    const [command = ""] = codeBlocks(readme, "sh");
    const [keys = "", probes = ""] = codeBlocks(readme, "json");
    const folder = await mkdtemp(join(tmpdir(), "svc-conformance-"));
    try {
      await writeFile(join(folder, "issuer.pem"), privatePem);
      await writeFile(join(folder, "keys.json"), keys);
      await writeFile(join(folder, "probes.json"), probes);
      const { code, stdout } = await judged(async () => {
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
        const args = command.trim().replace("http://localhost:8000", tested.options.url).split(" ").slice(2);
        try {
          return await run(folder, args);
        } finally {
          clearInterval(copying);
          await copied;
        }
      });
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
      const args = command
        .trim()
        .replace("http://localhost:8000", first)
        .replace("http://localhost:8001", replica)
        .split(" ")
        .slice(2);
      const { code, stdout } = await run(folder, args);
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
    const { code, stdout, stderr } = await judged(async () => {
      await using tested = await startUnderTest("full");
      await using sample = await runSample(url, 0, {
        replace: { "http://localhost:8000": tested.options.url },
      });
      return await sample.ended;
    });
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
});
