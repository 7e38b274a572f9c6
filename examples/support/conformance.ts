import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "chai";

const program = fileURLToPath(new URL("../../packages/conformance/src/command-line.ts", import.meta.url));

/** Returns the secret of `keys.json` in a folder, for the service that the kit checks. */
export function secretIn(folder: URL): string {
  const { secret } = JSON.parse(readFileSync(new URL("keys.json", folder), "utf8")) as { secret: string };
  return secret;
}

/**
 * Runs the conformance kit's command line against a service, including the conventions, with `keys.json` and
 * `probes.json` of a folder. Expects that no rule fails.
 *
 * @param replica the base URL of a second replica
 * @returns the number of rules that passed
 */
export async function expectConformance(
  url: string,
  folder: URL,
  profile: "full" | "reduced",
  replica?: string,
): Promise<number> {
  const files = ["keys", "probes"].flatMap((name) => [
    `--${name}`,
    fileURLToPath(new URL(`${name}.json`, folder)),
  ]);
  const second = replica === undefined ? [] : ["--replica", replica];
  const args = [
    "--conditions=@svc/source",
    program,
    url,
    "--profile",
    profile,
    ...files,
    ...second,
    "--house",
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let table = "";
  child.stdout.on("data", (chunk: Buffer) => (table += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  expect(table.match(/^FAIL.*\n.*\n.*/gm) ?? []).to.deep.equal([]);
  expect(code, table).to.equal(0);
  return Number(/(\d+) passed, 0 failed/.exec(table)?.[1]);
}
