import { symbols } from "pino";
import type { Logger as PinoLogger } from "pino";
import { stringEnd, valueEnd } from "./json-scan.ts";

/** The members of every log record; any other field with one of these names gets a trailing `_`. */
export const reserved: ReadonlySet<string> = new Set([
  "level",
  "time",
  "service",
  "env",
  "version",
  "message",
]);

const FIRST: unique symbol = Symbol("first members");
const BOUND: unique symbol = Symbol("bound fields");

/** The bound fields as pino and this package store them on a logger; child loggers inherit both. */
interface WithBound {
  [symbols.chindingsSym]: string;
  [FIRST]: string;
  [BOUND]: ReadonlyMap<string, string>;
}

function internals(logger: PinoLogger): WithBound {
  return logger as PinoLogger & WithBound;
}

/** Returns the bound fields of a logger as JSON members, each preceded by a comma. */
export function boundJson(logger: PinoLogger): string {
  return internals(logger)[symbols.chindingsSym];
}

/** Returns the fields that a child logger and its parents have bound: each name with its JSON value. */
export function boundNames(logger: PinoLogger): ReadonlyMap<string, string> {
  return internals(logger)[BOUND];
}

/** Prepares a root logger, so that names are unique in each record, including the records of child loggers. */
export function trackBoundFields(root: PinoLogger): void {
  const held = internals(root);
  held[FIRST] = held[symbols.chindingsSym];
  held[BOUND] = new Map();
  // oxlint-disable-next-line typescript/unbound-method -- called with the logger as this
  const { setBindings } = root;
  root.setBindings = function setBindingsOnce(this: PinoLogger, fields) {
    const before = internals(this)[symbols.chindingsSym];
    setBindings.call(this, fields);
    rebind(this, before);
  };
}

/** Makes the bound names of a new child logger unique; used as pino's `onChild`. */
export function childMade(child: PinoLogger): void {
  const parent = Object.getPrototypeOf(child) as WithBound;
  rebind(child, parent[symbols.chindingsSym]);
}

function rebind(logger: PinoLogger, before: string): void {
  const held = internals(logger);
  const added = held[symbols.chindingsSym].slice(before.length);
  if (added === "") return;
  const bound = new Map(held[BOUND]);
  // Keep the text of the values: parsing would change large integers.
  for (let at = 0; at < added.length;) {
    const colon = stringEnd(added, at + 1);
    const name = JSON.parse(added.slice(at + 1, colon)) as string;
    const comma = added.indexOf(",", valueEnd(added, colon + 1, false));
    const end = comma === -1 ? added.length : comma;
    bound.set(reserved.has(name) ? `${name}_` : name, added.slice(colon + 1, end));
    at = end;
  }
  held[BOUND] = bound;
  held[symbols.chindingsSym] = held[FIRST] + members(bound);
}

/** Returns a logger for one record, without the bound fields that the record's own fields replace. */
export function withoutBound(logger: PinoLogger, names: ReadonlySet<string>): PinoLogger {
  const once = Object.create(logger) as PinoLogger & WithBound;
  const left = new Map([...boundNames(logger)].filter(([name]) => !names.has(name)));
  once[BOUND] = left;
  once[symbols.chindingsSym] = once[FIRST] + members(left);
  return once;
}

function members(bound: ReadonlyMap<string, string>): string {
  let json = "";
  for (const [name, value] of bound) json += `,${JSON.stringify(name)}:${value}`;
  return json;
}
