import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isObject, type JsonObject } from "./answer.ts";
import { InvalidUse } from "./faults.ts";
import { type ConformanceOptions, isShape, type Keys, membersOf, type Shape } from "./options.ts";
import { fileName, shapeFaults, unknownNames } from "./shape-faults.ts";

/**
 * Reads the `--keys` file.
 * @throws InvalidUse, which never contains a secret
 */
export async function readKeys(path: string): Promise<Keys> {
  const given = await readObject(path);
  reject(shapeFaults("keys", `${path}: `, given, fileName));
  const { privateKeyFile, ...keys } = optionsIn("keys", given);
  if (typeof privateKeyFile === "string") {
    keys["privateKey"] = await readText(resolve(dirname(path), privateKeyFile));
  }
  return keys as unknown as Keys;
}

/** The content of the `--probes` file. */
export type ProbesFile = Pick<ConformanceOptions, "probes" | "tenancy" | "limits" | "features">;

/**
 * Reads the `--probes` file. `resolveSettings()` checks its routes.
 * @throws InvalidUse
 */
export async function readProbes(path: string): Promise<ProbesFile> {
  const given = await readObject(path);
  const beside = ["tenancy", "limits", "features"] as const;
  const nulls = Object.keys(given).filter((name) => given[name] === null);
  reject([
    ...unknownNames("probes", `${path}: `, given, fileName, beside),
    ...nulls.map((name) => `${path}: ${name}: must not be null`),
  ]);
  const { tenancy, limits, features, ...probes } = given;
  const file: Record<string, unknown> = { probes: optionsIn("probes", probes) };
  for (const [shape, value] of Object.entries({ tenancy, limits })) {
    if (value === undefined) continue;
    reject(shapeFaults(shape as Shape, `${path}: ${shape}.`, value, fileName));
    file[shape] = optionsIn(shape as Shape, value as JsonObject);
  }
  return (features === undefined ? file : { ...file, features }) as ProbesFile;
}

function reject(faults: readonly string[]): void {
  if (faults.length > 0) throw new InvalidUse(faults);
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    throw new InvalidUse([`${path}: cannot be read`]);
  }
}

async function readObject(path: string): Promise<JsonObject> {
  const text = await readText(path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the file, which may contain a secret.
    throw new InvalidUse([`${path}: is not JSON`]);
  }
  if (!isObject(value)) throw new InvalidUse([`${path}: is not an object`]);
  return value;
}

/** Renames the members of an object, and of nested objects in the definition, to option names. */
function optionsIn(shape: Shape, given: JsonObject): Record<string, unknown> {
  const members = membersOf(shape);
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => {
      const name = key.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
      const kind = members[name]?.kind;
      return [name, kind !== undefined && isShape(kind) && isObject(value) ? optionsIn(kind, value) : value];
    }),
  );
}
