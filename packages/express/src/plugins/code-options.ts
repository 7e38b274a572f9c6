import {
  ConfigurationError,
  type Fault,
  isOptionsObject,
  type Kind,
  type Kinds,
  objectWith,
  resolveOptions,
} from "@svc/options";
import type { AnyPlugin } from "@svc/plugin";

/** Returns the kinds of the options that code sets for a plugin. */
function codeKinds({ options }: AnyPlugin): Kinds {
  return Object.fromEntries(
    Object.entries(options.keys).flatMap(([name, entry]) =>
      "kind" in entry && entry.key === undefined && entry.env === undefined ? [[name, entry.kind]] : [],
    ),
  );
}

/** Returns the kind of the object with the options that code sets for a plugin. */
export function codeObject(plugin: AnyPlugin): Kind<unknown> {
  const own = codeKinds(plugin)[plugin.name];
  if (own !== undefined) return own;
  const members = Object.keys(codeKinds(plugin));
  const object = objectWith<object>(`an object { ${members.join(", ")} }`);
  return { ...object, accepts: isOptionsObject, members };
}

/**
 * Checks the options that code sets for a plugin, for example `createService({ auth: { onRefresh } })`. If an option has the
 * plugin's own name, its value is the whole object: `createService({ rollups })`.
 *
 * @throws ConfigurationError with keys such as `auth.onRefresh`
 */
export function codeOptions(plugin: AnyPlugin, given: object | undefined): Readonly<Record<string, unknown>> {
  const { name } = plugin;
  const kinds = codeKinds(plugin);
  const names = { subject: "createService()", of: (option: string) => nameInCode(name, option) };
  const options = given !== undefined && Object.hasOwn(kinds, name) ? { [name]: given } : given;
  return resolveOptions("createService()", options, kinds, names);
}

/** Returns the name of a plugin's code option in `createService()`. */
export function nameInCode(plugin: string, option: string): string {
  return option === plugin ? plugin : `${plugin}.${option}`;
}

/** The kind for custom plugins. It rejects a plugin not created by `definePlugin()`. */
export const pluginKind: Kind<Readonly<Record<string, AnyPlugin>>> = {
  expects: "an object of plugins by name, each created by definePlugin()",
  accepts: (value): value is Readonly<Record<string, AnyPlugin>> =>
    typeof value === "object" &&
    value !== null &&
    Object.values(value).every((each: unknown) => {
      const { name, start, options, needs, uses } = (each ?? {}) as Partial<AnyPlugin>;
      return (
        typeof name === "string" &&
        typeof start === "function" &&
        typeof options?.keys === "object" &&
        Array.isArray(needs) &&
        Array.isArray(uses)
      );
    }),
};

/**
 * Rejects custom plugins whose name is already used or differs from their key.
 *
 * @throws ConfigurationError
 */
export function refuseNames(
  own: Readonly<Record<string, AnyPlugin>>,
  builtIn: readonly AnyPlugin[],
  reserved: readonly string[],
): void {
  const faults = Object.entries(own).flatMap(([key, { name }]): Fault[] => {
    if (key !== name)
      return [{ key: `plugins.${key}`, message: `is the plugin ${name}; pass it under that name` }];
    if (builtIn.some((each) => each.name === name)) {
      return [{ key: `plugins.${key}`, message: "is the name of a built-in plugin; rename yours" }];
    }
    if (reserved.includes(name)) {
      return [
        {
          key: `plugins.${key}`,
          message: "is the name of an option of createService() or a member of a service; rename it",
        },
      ];
    }
    return [];
  });
  if (faults.length > 0) throw new ConfigurationError("createService()", faults);
}
