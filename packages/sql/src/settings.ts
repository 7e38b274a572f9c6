import { OptionError } from "./errors.ts";
import { identifier } from "./identifier.ts";
import { literal } from "./literal.ts";

/** Server settings by name, for example `{ "svc.tenant": "acme" }`. */
export type Settings = Readonly<Record<string, string>>;

const NAME = /^[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?$/;

/** @throws OptionError when `name` is not a valid setting name */
export function checkSettingName(subject: string, name: unknown): asserts name is string {
  if (typeof name === "string" && name.length <= 63 && NAME.test(name)) return;
  throw new OptionError(
    `${subject}: ${JSON.stringify(name)} must be a name such as svc.tenant: lower-case letters, digits, _ and at most one dot, ` +
      "at most 63 characters",
  );
}

/** @throws OptionError */
export function checkSettings(subject: string, settings: Settings): void {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) {
    throw new OptionError(`${subject}: settings must be an object`);
  }
  for (const [name, value] of Object.entries(settings)) {
    checkSettingName(subject, name);
    if (typeof value === "string") continue;
    throw new OptionError(`${subject}: settings.${name} must be a string; it is ${typeof value}`);
  }
}

/**
 * Returns the statements that apply the settings until the end of the transaction. `set local` costs the server a fifth of
 * `set_config`, but reads a list such as a `search_path` as one long name; a custom setting is never a list.
 */
export function setLocal(settings: Settings): string[] {
  return Object.entries(settings).map(([name, value]) =>
    name.includes(".")
      ? `set local ${quoted(name)} = ${literal(value)}`
      : `select set_config(${literal(name)}, ${literal(value)}, true)`,
  );
}

/** Returns the statements that restore the values that the settings had when the connection was opened. */
export function resets(settings: Settings): string[] {
  return Object.keys(settings).map((name) => `reset ${quoted(name)}`);
}

function quoted(name: string): string {
  return name.split(".").map(identifier).join(".");
}
