import { isDeepStrictEqual } from "node:util";
import { type Kind, unknownOption } from "@svc/options";
import { type Environment, type EnvironmentName, readText, variable } from "./environment.ts";
import type { FaultList } from "./fault-list.ts";
import { isSecretName, isSecretText, keyName, mask, maskValue, showValue } from "./masking.ts";
import type { FileTable, Resolved } from "./references.ts";
import type { Key, UntypedTable } from "./table.ts";

/** What one run of the reader shares between its tables. */
export interface Reading extends Pick<Resolved, "fromEnvironment" | "broken"> {
  readonly env: Environment;
  readonly environment: EnvironmentName;
  readonly faults: FaultList;
  readonly notes: string[];
  /** False when the file could not be read: what it would have said is then not missed. */
  readonly fileIsKnown: boolean;
  /** False where there is only the environment. */
  readonly hasFile: boolean;
}

/** The settings of a table, and the same with everything secret masked. */
export interface Settings {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly shown: Readonly<Record<string, unknown>>;
}

type Path = readonly string[];

interface Found {
  readonly value: unknown;
  /** True when the value must not be shown whatever its key is called. */
  readonly concealed: boolean;
}

/**
 * Reads one table and the tables inside it.
 *
 * @param node what the file has in its place; undefined when it has nothing
 */
export function readTable(table: UntypedTable, node: unknown, path: Path, reading: Reading): Settings {
  const before = reading.faults.size;
  const source = checkNames(table, node, path, reading.faults);
  const settings: Record<string, unknown> = {};
  const shown: Record<string, unknown> = {};
  for (const [name, entry] of Object.entries(table.keys)) {
    const at = [...path, entry.key];
    if ("kind" in entry) {
      const found = readKey(entry, source, at, reading);
      settings[name] = found?.value;
      shown[name] = describe(entry.kind, found, at);
    } else {
      const read =
        "table" in entry
          ? readTable(entry.table, source[entry.key], at, reading)
          : readNamed(entry.each, source[entry.key], at, reading);
      settings[name] = read.settings;
      shown[name] = read.shown;
    }
  }
  if (reading.faults.size === before && reading.fileIsKnown) {
    for (const fault of table.check?.(settings, reading.environment) ?? []) {
      reading.faults.add(keyName([...path, fault.key]), () => fault.message);
    }
  }
  return { settings, shown };
}

/** Looks at a table that nobody uses now: its names and values must be right, nothing must be there. */
export function checkUnusedTable(table: UntypedTable, node: unknown, path: Path, reading: Reading): void {
  const source = checkNames(table, node, path, reading.faults);
  for (const entry of Object.values(table.keys)) {
    const at = [...path, entry.key];
    if ("kind" in entry) {
      fromFile(entry, source, at, reading);
    } else if ("table" in entry) {
      checkUnusedTable(entry.table, source[entry.key], at, reading);
    } else {
      const named = asTable(source[entry.key], at, reading.faults);
      for (const [name, each] of Object.entries(named)) {
        checkUnusedTable(entry.each, each, [...at, name], reading);
      }
    }
  }
}

/** What stands in a table's place as a table; something else there is a fault. */
export function asTable(node: unknown, path: Path, faults: FaultList): FileTable {
  if (node === undefined) return {};
  if (isTable(node)) return node;
  faults.add(keyName(path), () => `must be a table, [${keyName(path)}]`);
  return {};
}

function isTable(node: unknown): node is FileTable {
  return typeof node === "object" && node !== null && !Array.isArray(node) && !(node instanceof Date);
}

function checkNames(table: UntypedTable, node: unknown, path: Path, faults: FaultList): FileTable {
  const source = asTable(node, path, faults);
  const known = Object.values(table.keys).map((entry) => entry.key);
  for (const name of Object.keys(source)) {
    // Its value is not shown: a slip of the pen may hide that the key is a secret one.
    if (!known.includes(name)) faults.add(keyName([...path, name]), () => unknownOption(name, known));
  }
  return source;
}

function readNamed(each: UntypedTable, node: unknown, path: Path, reading: Reading): Settings {
  const settings: Record<string, unknown> = {};
  const shown: Record<string, unknown> = {};
  for (const [name, table] of Object.entries(asTable(node, path, reading.faults))) {
    const read = readTable(each, table, [...path, name], reading);
    settings[name] = read.settings;
    shown[name] = read.shown;
  }
  return { settings, shown };
}

function describe(kind: Kind<unknown>, found: Found | undefined, path: Path): unknown {
  const value = found?.value;
  if (value === undefined) return undefined;
  if (found?.concealed === true || kind.secret === true) return mask;
  // A name alone says little about a number or a truth value: token_lifetime, credentials.
  const mayHide = typeof value === "string" || typeof value === "object";
  return mayHide && path.some(isSecretName) ? mask : maskValue(value);
}

function readKey(key: Key<unknown>, source: FileTable, path: Path, reading: Reading): Found | undefined {
  const before = reading.faults.size;
  const said = fromFile(key, source, path, reading);
  const set = fromVariable(key, path, reading);
  if (said !== undefined && set !== undefined) {
    const wins = key.wins ?? "file";
    if (!isDeepStrictEqual(said.value, set.value)) {
      const [winner, loser] = wins === "env" ? [key.env, keyName(path)] : [keyName(path), key.env];
      reading.notes.push(`${winner} counts, ${loser} says something else`);
    }
    return wins === "env" ? set : said;
  }
  const found = said ?? set;
  const isWrong = reading.faults.size > before || reading.broken.has(keyName(path));
  if (found !== undefined || isWrong) return found;
  if (key.defaultIn !== undefined) return { value: key.defaultIn(reading.environment), concealed: false };
  if (key.kind.optional === true) return { value: key.kind.fallback, concealed: false };
  if (reading.fileIsKnown) {
    const also = key.env === undefined || !reading.hasFile ? "" : ` (here or as ${key.env})`;
    const name = reading.hasFile ? undefined : key.env;
    reading.faults.add(name ?? keyName(path), () => `is required${also} and must be ${key.kind.expects}`);
  }
  return undefined;
}

function fromFile(key: Key<unknown>, source: FileTable, path: Path, reading: Reading): Found | undefined {
  const value = Object.hasOwn(source, key.key) ? source[key.key] : undefined;
  if (value === undefined) return undefined;
  if (reading.broken.has(keyName(path))) return undefined;
  const concealed = reading.fromEnvironment.has(keyName(path));
  if (concealed && value === "") return undefined;
  if (key.kind.accepts(value)) return { value, concealed };
  // What a reference put in is text, like a variable: a port written "${PORT}" is still a number.
  const read = concealed && typeof value === "string" ? readText(key.kind, value) : undefined;
  if (read !== undefined) return { value: read.value, concealed };
  reading.faults.add(keyName(path), () => wrongValue(key.kind, value, concealed || path.some(isSecretName)));
  return undefined;
}

function fromVariable(key: Key<unknown>, path: Path, { env, faults }: Reading): Found | undefined {
  const name = key.env;
  const text = name === undefined ? undefined : variable(env, name);
  if (name === undefined || text === undefined) return undefined;
  const read = readText(key.kind, text);
  if (read !== undefined) return { value: read.value, concealed: false };
  faults.add(name, () => wrongValue(key.kind, text, isSecretName(name) || path.some(isSecretName)));
  return undefined;
}

function wrongValue(kind: Kind<unknown>, value: unknown, concealed: boolean): string {
  const hidden = concealed || kind.secret === true || (typeof value === "string" && isSecretText(value));
  return `must be ${kind.expects}; it is ${hidden ? "not (the value is not shown)" : showValue(value)}`;
}
