#!/usr/bin/env node
import { writeFile } from "node:fs/promises";
import { readArguments, usage } from "./arguments.ts";
import { checkConformance } from "./conformance.ts";
import { InvalidUse } from "./faults.ts";
import type { ConformanceOptions } from "./options.ts";
import { asJUnit, asTable } from "./report.ts";
import { readKeys, readProbes } from "./settings-files.ts";

async function main(given: readonly string[]): Promise<number> {
  const { help, options, keysFile, probesFile, jsonFile, junitFile } = readArguments(given);
  if (help) {
    process.stdout.write(usage);
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
  const report = await checkConformance(all);
  process.stdout.write(asTable(report));
  if (jsonFile !== undefined) await write(jsonFile, `${JSON.stringify(report, undefined, 2)}\n`);
  if (junitFile !== undefined) await write(junitFile, asJUnit(report));
  return report.conforms ? 0 : 1;
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw new InvalidUse([`${path}: cannot be written: ${(error as NodeJS.ErrnoException).code}`]);
  }
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    const lines = error instanceof InvalidUse ? error.faults : [String(error)];
    process.stderr.write(`${lines.map((line) => `svc-conformance: ${line}`).join("\n")}\n`);
    if (error instanceof InvalidUse) process.stderr.write("svc-conformance --help tells more\n");
    process.exitCode = 2;
  },
);
