import { isDeepStrictEqual } from "node:util";
import { type EnvironmentName, type Kind, type Option, type OptionalKind, unknownOption } from "@svc/options";
import { type Environment, readText, variable } from "./environment.ts";
import type { FaultList } from "./fault-list.ts";
import { isSecretName, isSecretText, keyName, mask, maskValue, showValue } from "./masking.ts";
import type { FileTable, Resolved } from "./references.ts";
import type { TableFault, UntypedTable } from "./table.ts";

/** State that the tables share while one configuration is read. */
export interface Reading extends Pick<Resolved, "fromEnvironment" | "broken"> {
  readonly env: Environment;
  readonly environment: EnvironmentName;
  readonly faults: FaultList;
  readonly notes: string[];
  /** Whether the file could be read; if not, missing keys are not reported. */
  readonly fileIsKnown: boolean;
  /** Whether there is a file; if not, only the environment is read. */
  readonly hasFile: boolean;
}

/** A table's settings, and a copy with all secrets masked. */
export interface Settings {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly shown: Readonly<Record<string, unknown>>;
}

type Path = readonly string[];

interface Found {
  readonly value: unknown;
  /** Whether the value came from the environment, and is therefore hidden under any key. */
  readonly concealed: boolean;
}

/**
 * Reads one table and its nested tables.
 *
 * @param node the value in the file; undefined when the file does not have it
 */
export function readTable(table: UntypedTable, node: unknown, path: Path, reading: Reading): Settings {
  const before = reading.faults.size;
  const source = checkNames(table, node, path, reading.faults);
  const settings: Record<string, unknown> = {};
  const shown: Record<string, unknown> = {};
  for (const [name, entry] of Object.entries(table.keys)) {
    if ("kind" in entry) {
      const key = settingOf(entry);
      if (key === undefined) continue;
      const at = [...path, key.key ?? key.env[0] ?? name];
      const found = readKey(key, source, at, reading);
      const value = found === undefined ? undefined : key.toOption(found.value);
      settings[name] = value;
      shown[name] = describe(key.kind, found && { ...found, value }, at);
    } else {
      const at = [...path, entry.key];
      const read =
        "table" in entry
          ? readTable(entry.table, source[entry.key], at, reading)
          : readNamed(entry.each, source[entry.key], at, reading);
      settings[name] = read.settings;
      shown[name] = read.shown;
    }
  }
  if (reading.faults.size === before && reading.fileIsKnown) {
    for (const fault of faultsOf(table, settings, reading.environment)) {
      reading.faults.add(keyName([...path, fault.key]), () => fault.message);
    }
  }
  return { settings, shown };
}

/** Returns the faults in the combination of valid settings, with keys as in the file. */
function faultsOf(
  table: UntypedTable,
  settings: object,
  environment: EnvironmentName,
): readonly TableFault[] {
  const keyOf = (option: string): string => {
    const entry = Object.hasOwn(table.keys, option) ? table.keys[option] : undefined;
    return entry?.key ?? option;
  };
  const faults = table.faultsOf?.(settings as never, keyOf) ?? [];
  return [
    ...(table.check?.(settings, environment) ?? []),
    ...faults.map(({ key, message }) => ({ key: keyOf(key), message })),
  ];
}

/** Checks a disabled plugin's table: names and values must be valid, but no key is required. */
export function checkUnusedTable(table: UntypedTable, node: unknown, path: Path, reading: Reading): void {
  const source = checkNames(table, node, path, reading.faults);
  for (const entry of Object.values(table.keys)) {
    if ("kind" in entry) {
      const key = settingOf(entry);
      if (key?.key !== undefined) fromFile(key, source, [...path, key.key], reading);
      continue;
    }
    const at = [...path, entry.key];
    if ("table" in entry) {
      checkUnusedTable(entry.table, source[entry.key], at, reading);
    } else {
      const named = asTable(source[entry.key], at, reading.faults);
      for (const [name, each] of Object.entries(named)) {
        checkUnusedTable(entry.each, each, [...at, name], reading);
      }
    }
  }
}

/** Returns a value from the file as a table; adds a fault for any other value. */
export function asTable(node: unknown, path: Path, faults: FaultList): FileTable {
  if (node === undefined) return {};
  if (isTable(node)) return node;
  faults.add(keyName(path), () => `must be a table, written as [${keyName(path)}]`);
  return {};
}

function isTable(node: unknown): node is FileTable {
  return typeof node === "object" && node !== null && !Array.isArray(node) && !(node instanceof Date);
}

function checkNames(table: UntypedTable, node: unknown, path: Path, faults: FaultList): FileTable {
  const source = asTable(node, path, faults);
  const known = Object.values(table.keys).flatMap((entry) => entry.key ?? []);
  for (const name of Object.keys(source)) {
    // Hide the value, because the unknown key may be a misspelled secret one.
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
  // Numbers and booleans under such a name are usually harmless: token_lifetime, credentials.
  const mayHide = typeof value === "string" || typeof value === "object";
  return mayHide && path.some(isSecretName) ? mask : maskValue(value);
}

/** A setting in the file or the environment, in the file's unit. */
interface Setting {
  /** Undefined if only the environment sets it. */
  readonly key: string | undefined;
  readonly env: readonly string[];
  readonly wins: "env" | "file";
  readonly kind: Kind<unknown> | OptionalKind<unknown, unknown>;
  defaultIn(environment: EnvironmentName): unknown;
  toOption(value: unknown): unknown;
}

const same = (value: unknown): unknown => value;

/** Returns an option's setting; undefined for an option that is set in code. */
function settingOf({ key, env = [], wins, kind, inFile, defaultIn }: Option): Setting | undefined {
  const variables = [env].flat();
  if (key === undefined && variables.length === 0) return undefined;
  const toOption = (inFile?.toOption as ((value: unknown) => unknown) | undefined) ?? same;
  const toFile = (inFile?.toFile as ((value: unknown) => unknown) | undefined) ?? same;
  const fallback = isOptional(kind) ? { optional: true, fallback: toFile(kind.fallback) } : {};
  return {
    key,
    env: variables,
    wins: wins ?? "file",
    kind: inFile === undefined ? kind : { ...inFile.kind, ...fallback, secret: kind.secret },
    defaultIn: (environment) => (defaultIn === undefined ? undefined : toFile(defaultIn(environment))),
    toOption,
  };
}

function isOptional(kind: Kind<unknown>): kind is OptionalKind<unknown, unknown> {
  return "optional" in kind;
}

function readKey(key: Setting, source: FileTable, path: Path, reading: Reading): Found | undefined {
  const before = reading.faults.size;
  const said = fromFile(key, source, path, reading);
  const set = fromVariable(key, path, reading);
  if (said !== undefined && set !== undefined) {
    if (!isDeepStrictEqual(said.value, set.value)) {
      const [winner, loser] =
        key.wins === "env" ? [set.variable, keyName(path)] : [keyName(path), set.variable];
      reading.notes.push(`${winner} is used; ${loser} has a different value`);
    }
    return key.wins === "env" ? set : said;
  }
  const found = said ?? set;
  const isWrong = reading.faults.size > before || reading.broken.has(keyName(path));
  if (found !== undefined || isWrong) return found;
  const value = key.defaultIn(reading.environment);
  if (value !== undefined) return { value, concealed: false };
  if (isOptional(key.kind)) return { value: key.kind.fallback, concealed: false };
  if (reading.fileIsKnown) {
    const [variable] = key.env;
    const also = variable === undefined || !reading.hasFile ? "" : ` (here or as ${variable})`;
    const name = reading.hasFile && key.key !== undefined ? undefined : variable;
    reading.faults.add(name ?? keyName(path), () => `is required${also} and must be ${key.kind.expects}`);
  }
  return undefined;
}

function fromFile(
  { key, kind }: Setting,
  source: FileTable,
  path: Path,
  reading: Reading,
): Found | undefined {
  const value = key !== undefined && Object.hasOwn(source, key) ? source[key] : undefined;
  if (value === undefined) return undefined;
  if (reading.broken.has(keyName(path))) return undefined;
  const concealed = reading.fromEnvironment.has(keyName(path));
  if (concealed && value === "") return undefined;
  if (kind.accepts(value)) return { value, concealed };
  // A string from a reference is read like a variable's value, so that port = "${PORT}" is a number.
  const read = concealed && typeof value === "string" ? readText(kind, value) : undefined;
  if (read !== undefined) return { value: read.value, concealed };
  reading.faults.add(keyName(path), () => wrongValue(kind, value, concealed || path.some(isSecretName)));
  return undefined;
}

function fromVariable(
  { env: names, kind }: Setting,
  path: Path,
  { env, faults }: Reading,
): (Found & { readonly variable: string }) | undefined {
  const name = names.find((each) => variable(env, each) !== undefined);
  const text = name === undefined ? undefined : variable(env, name);
  if (name === undefined || text === undefined) return undefined;
  const read = readText(kind, text);
  if (read !== undefined) return { value: read.value, concealed: false, variable: name };
  faults.add(name, () => wrongValue(kind, text, isSecretName(name) || path.some(isSecretName)));
  return undefined;
}

function wrongValue(kind: Kind<unknown>, value: unknown, concealed: boolean): string {
  const hidden = concealed || kind.secret === true || (typeof value === "string" && isSecretText(value));
  if (hidden) return `must be ${kind.expects} (the value is not shown)`;
  const hint = kind.hint?.(value);
  return `must be ${kind.expects}; it is ${showValue(value)}${hint === undefined ? "" : `; ${hint}`}`;
}
