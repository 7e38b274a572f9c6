import { writeFile } from "node:fs/promises";
import { readArguments, usage } from "./arguments.ts";
import { checkConformance } from "./conformance.ts";
import { InvalidUse } from "./faults.ts";
import type { ConformanceOptions } from "./options.ts";
import { asJUnit, asTable } from "./report.ts";
import { readKeys, readProbes } from "./settings-files.ts";
import { expectedWaits } from "./waits.ts";

/** The output streams of the program. */
export interface Output {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/** The exit code when no rule failed but the run saw less than required. */
const tooLittleSeen = 3;

/** Runs the command line. Resolves to its exit code. */
export async function runProgram(given: readonly string[], output: Output): Promise<number> {
  try {
    return await check(given, output);
  } catch (error) {
    const lines = error instanceof InvalidUse ? error.faults : [String(error)];
    output.stderr.write(`${lines.map((line) => `svc-conformance: ${line}`).join("\n")}\n`);
    if (error instanceof InvalidUse) output.stderr.write("svc-conformance --help tells more\n");
    return 2;
  }
}

async function check(given: readonly string[], { stdout, stderr }: Output): Promise<number> {
  const { help, options, keysFile, probesFile, jsonFile, junitFile } = readArguments(given);
  if (help) {
    stdout.write(usage);
    return 0;
  }
  const fromFile = probesFile === undefined ? {} : await readProbes(probesFile);
  const all: ConformanceOptions = {
    ...options,
    ...fromFile,
    features: options.features ?? fromFile.features,
    probes: { ...fromFile.probes, ...options.probes },
    keys: keysFile === undefined ? undefined : await readKeys(keysFile),
  };
  const waits = expectedWaits(all);
  if (waits !== undefined) stderr.write(`svc-conformance: ${waits}\n`);
  const report = await checkConformance(all);
  stdout.write(asTable(report));
  if (jsonFile !== undefined) await write(jsonFile, `${JSON.stringify(report, undefined, 2)}\n`);
  if (junitFile !== undefined) await write(junitFile, asJUnit(report));
  if (report.failed > 0) return 1;
  return report.conforms ? 0 : tooLittleSeen;
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new InvalidUse([`${path}: cannot be written: ${(error as NodeJS.ErrnoException).code}`]);
  }
}
