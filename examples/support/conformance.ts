import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { unlessHeldUp } from "@svc/test-support";
import { expect } from "chai";

const program = fileURLToPath(new URL("../../packages/conformance/src/command-line.ts", import.meta.url));

/** Returns the secret of `keys.json` in a folder, for the service that the kit checks. */
export function secretIn(folder: URL): string {
  const { secret } = JSON.parse(readFileSync(new URL("keys.json", folder), "utf8")) as { secret: string };
  return secret;
}

/** The surroundings of the service. */
export interface Surroundings {
  /** The base URL of a second replica. */
  readonly replica?: string | undefined;
  /** Makes one round trip to the service's store, which the service considers down after a second without an answer. */
  readonly askStore?: (() => Promise<unknown>) | undefined;
}

/**
 * Runs the conformance kit against a service as the command line does, conventions included, with `keys.json` and
 * `probes.json` of a folder, and expects that no rule fails.
 *
 * @returns the number of rules that passed
 */
export async function expectConformance(
  url: string,
  folder: URL,
  profile: "full" | "reduced",
  { replica, askStore }: Surroundings = {},
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
  const judge = async (): Promise<{ readonly code: number | null; readonly table: string }> => {
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let table = "";
    child.stdout.on("data", (chunk: Buffer) => (table += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, table };
  };
  const failed = (table: string): readonly string[] => table.match(/^FAIL.*\n.*\n.*/gm) ?? [];
  // Without a store and without breakable dependencies, no checked rule has a deadline below a second.
  const { code, table } =
    askStore === undefined
      ? await judge()
      : await unlessHeldUp(judge, {
          leastMs: 700,
          ask: askStore,
          show: ({ code, table }) => failed(table).join("; ") || `exit code ${code}`,
        });
  expect(failed(table)).to.deep.equal([]);
  expect(code, table).to.equal(0);
  return Number(/(\d+) passed, 0 failed/.exec(table)?.[1]);
}
