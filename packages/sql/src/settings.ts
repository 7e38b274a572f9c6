import { OptionError } from "./errors.ts";
import { identifier } from "./identifier.ts";
import { literal } from "./literal.ts";

/** Settings of the server by name, as `{ "svc.tenant": "acme" }`. */
export type Settings = Readonly<Record<string, string>>;

const NAME = /^[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)?$/;

/** @throws OptionError for what is no name of a setting */
export function checkSettingName(subject: string, name: unknown): asserts name is string {
  if (typeof name === "string" && name.length <= 63 && NAME.test(name)) return;
  throw new OptionError(`${subject}: ${JSON.stringify(name)} is no name of a setting, such as svc.tenant`);
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
 * The statements that set them to the end of the transaction. `set local` costs the server a fifth of `set_config`, but takes a
 * list, as that of `search_path`, for one long name; a setting of somebody's own is no list.
 */
export function setLocal(settings: Settings): string[] {
  return Object.entries(settings).map(([name, value]) =>
    name.includes(".")
      ? `set local ${quoted(name)} = ${literal(value)}`
      : `select set_config(${literal(name)}, ${literal(value)}, true)`,
  );
}

/** The statements that give them the values back that they had when the connection was made. */
export function resets(settings: Settings): string[] {
  return Object.keys(settings).map((name) => `reset ${quoted(name)}`);
}

function quoted(name: string): string {
  return name.split(".").map(identifier).join(".");
}
