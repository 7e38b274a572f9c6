import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { unlessHeldUp } from "@svc/test-support";
import { expect } from "chai";

const program = fileURLToPath(new URL("../../packages/conformance/src/command-line.ts", import.meta.url));

/** The secret of the keys in a folder `conformance`, for the service that is checked with them. */
export function secretIn(folder: URL): string {
  const { secret } = JSON.parse(readFileSync(new URL("keys.json", folder), "utf8")) as { secret: string };
  return secret;
}

/** What stands beside the service. */
export interface Surroundings {
  /** The base URL of a second replica. */
  readonly replica?: string | undefined;
  /** One round trip to the store of the service, which takes one that does not answer for a second for one that is gone. */
  readonly askStore?: (() => Promise<unknown>) | undefined;
}

/**
 * Checks a service as the command line does, the choices of the house included, with `keys.json` and `probes.json` of a
 * folder; and expects that it keeps every rule that can be judged.
 *
 * @returns how many rules were kept
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
  // Without a store, and without dependencies that break, no rule that can be judged asks for anything within a second.
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
