import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { testDatabase } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import { codeBlocks, rejection } from "@svc/test-support";
import { expect } from "chai";
import { startTestMode } from "../test-mode/start.ts";

const folder = new URL("../", import.meta.url);

interface End {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the script `conformance` of the package. */
async function conformance(...args: readonly string[]): Promise<End> {
  const { scripts } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as {
    readonly scripts: { readonly conformance: string };
  };
  const [, ...own] = scripts.conformance.split(" ");
  const child = spawn(process.execPath, [...own, ...args], {
    cwd: fileURLToPath(folder),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

describe("the full service in its test mode", function () {
  this.timeout(180_000);
  const database = testDatabase({ name: "test_mode" });

  it("passes every rule of the kit that applies, and at most 15 of 217 do not apply", async () => {
    const readme = readFileSync(new URL("README.md", folder), "utf8");
    const command = codeBlocks(readme, "sh").find((each) => each.includes("npm run conformance")) ?? "";
    const args =
      /^npm run conformance -w examples\/full-service -- (.+)$/m.exec(command)?.[1]?.split(" ") ?? [];
    expect(args.join(" ")).to.contain("--max-not-applicable 15");
    const end = await conformance(...args);
    const last = end.stdout.trimEnd().split("\n").at(-1) ?? "";
    expect(end.stdout.match(/^FAIL.*\n.*\n.*/gm) ?? [], end.stderr).to.deep.equal([]);
    expect(end.code, last).to.equal(0);
    expect(readme).to.contain(`\n${last}\n`);
    const [, passed, notApplicable] = /^(\d+) passed, 0 failed, (\d+) not applicable: /.exec(last) ?? [];
    expect(Number(passed) + Number(notApplicable)).to.equal(217);
    expect(Number(notApplicable)).to.be.at.most(15);
  });

  it("rejects SVC_ENV=prod before the service listens", async () => {
    const error = await rejection(startTestMode(database.url, { SVC_ENV: "prod" }));
    expect(error).to.be.instanceOf(ConfigurationError);
    expect(String(error)).to.match(
      /SVC_ENV: must not be prod: a client can break the service with one request/,
    );
  });
});
