import type { ReadinessCheck } from "@svc/context";
import {
  ConfigurationError,
  type Definition,
  type Fault,
  kinds as k,
  type Names,
  type Option,
  type OptionEntries,
  withNames,
} from "@svc/options";

/** The settings of a plugin without defaults, so that only those in the file are defined. */
type Optional<E> = {
  readonly [N in keyof E]: E[N] extends { readonly kind: k.Kind<infer T> }
    ? Omit<E[N], "kind"> & { readonly kind: k.OptionalKind<Exclude<T, undefined>, undefined> }
    : E[N];
};

/** Returns the settings of a plugin, all optional and without defaults. */
export function optionalSettings<E extends OptionEntries>({ keys }: Definition<E>): Optional<E> {
  return Object.fromEntries(
    Object.entries(keys).map(([name, entry]) => [name, "kind" in entry ? optional(entry) : entry]),
  ) as unknown as Optional<E>;
}

function optional({ inFile, ...entry }: Option): Option {
  const kind = k.optional(entry.kind);
  if (inFile === undefined) return { ...entry, kind };
  const { toOption, toFile } = inFile;
  // The conversions also receive the default, undefined.
  const kept =
    (convert: (value: never) => unknown) =>
    (value: unknown): unknown =>
      value === undefined ? undefined : convert(value as never);
  return { ...entry, kind, inFile: { ...inFile, toOption: kept(toOption), toFile: kept(toFile) } };
}

/**
 * Rejects settings in the file for an object of the application, which was created with its own settings.
 *
 * @param isStopped whether the object has been stopped
 * @throws ConfigurationError
 */
export function refuseSettings(
  name: string,
  settings: Readonly<Record<string, unknown>>,
  nameOf: (option: string) => string,
  isStopped: boolean,
): void {
  const message = `cannot be combined with ${name} in createService(), whose own settings apply`;
  const faults: Fault[] = Object.keys(settings)
    .filter((option) => settings[option] !== undefined)
    .map((option) => ({ key: nameOf(option), message }));
  if (isStopped) faults.push({ key: name, message: "has been stopped; pass one that is open" });
  if (faults.length > 0) throw new ConfigurationError("createService()", faults);
}

/**
 * Returns a function that attaches the names of options as the user wrote them: `database.pool`, or `database` for the pool
 * alone; `plugin.database.url` for a setting of the file.
 */
export function namesOfOwn(
  plugin: string,
  inObject: readonly string[],
  alone: string,
  nameOf: (option: string) => string,
) {
  const own: Names = {
    subject: "createService()",
    of(option) {
      if (inObject.includes(option)) return `${plugin}.${option}`;
      return option === alone ? plugin : nameOf(option);
    },
  };
  return Object.assign(<T extends object>(options: T): T => withNames(options, own), { own });
}

/** Returns whether a database or a cache has been stopped, without asking the server. */
export async function isStopped({
  readiness,
}: {
  readonly readiness: () => ReadinessCheck;
}): Promise<boolean> {
  // A check with an aborted signal still reports a stopped object, and does nothing else.
  const { detail } = await readiness().check(AbortSignal.abort());
  return detail === "stopped" || detail === "closed";
}

/** Returns whether a value has all these methods. */
export function hasMethods(value: object, ...names: readonly string[]): boolean {
  return names.every((name) => typeof (value as Readonly<Record<string, unknown>>)[name] === "function");
}
