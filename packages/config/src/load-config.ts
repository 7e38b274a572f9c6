import {
  ConfigurationError,
  either,
  type EnvironmentName,
  environmentNames,
  type Kind,
  listOf,
  objectWith,
  optional,
  resolveOptions,
  secret,
  string,
  unknownOption,
  variablesOf,
  withDefault,
} from "@svc/options";
import { rememberDescription } from "./describe-config.ts";
import type { Environment } from "./environment.ts";
import { environmentNotes, unusedPluginNotes } from "./environment-notes.ts";
import { FaultList } from "./fault-list.ts";
import { keyName } from "./masking.ts";
import type { Config, LoadOptions } from "./options.ts";
import { readPlugins } from "./read-plugins.ts";
import { type Reading, readTable, type Settings } from "./file-or-environment.ts";
import { type FileTable, resolveReferences } from "./references.ts";
import { loggingTable, serviceTable } from "./service-table.ts";
import type { SettingsByName, UntypedTable } from "./table.ts";
import { parseToml, readFile } from "./toml-file.ts";

/** Process exit code for an invalid configuration (CFG-14). */
export const configurationExitCode = 2;

/**
 * Reads a service's configuration from the environment and, if given, a TOML file (CFG-1, CFG-3, CFG-5).
 *
 * @returns the settings, frozen, with all defaults applied, typed by the tables
 * @throws ConfigurationError that lists every fault without showing a secret (CFG-12, CFG-13)
 */
export function loadConfig<
  P extends SettingsByName = Record<never, object>,
  A extends SettingsByName = Record<never, object>,
>(options?: LoadOptions<P, A>): Config<P, A>;
export function loadConfig(given?: object): object {
  const {
    file,
    text,
    env = process.env,
    plugins,
    defaultPlugins,
    sections,
  } = resolveOptions("loadConfig()", given, kinds);
  const faults = new FaultList();
  const content = text ?? (file === undefined ? "" : readFile(file, faults));
  const document = content === undefined ? undefined : parseToml(content, faults);
  const { root, fromEnvironment, broken, variables } = resolveReferences(document ?? {}, env, faults);
  const fileIsKnown = document !== undefined;
  const hasFile = text !== undefined || file !== undefined;
  const shared = { fromEnvironment, broken, env, fileIsKnown, hasFile };
  const environment = environmentOf(root, shared);
  const reading: Reading = { ...shared, environment, faults, notes: [] };

  const tables: TableSet = { service: serviceTable, logging: loggingTable, ...sections };
  checkSectionNames(root, Object.keys(tables), faults);
  const read = Object.entries(tables).map(
    ([name, table]) => [name, readTable(table, root[name], [name], reading)] as const,
  );
  const enabled = readPlugins(root, plugins, defaultPlugins, reading);
  if (faults.size > 0) throw new ConfigurationError(String(file ?? "the service"), faults.all());

  const known = [...Object.values(tables), ...Object.values(plugins)].flatMap(variablesOf);
  const notes = [
    ...reading.notes,
    ...unusedPluginNotes(env, plugins, enabled.names),
    ...environmentNotes(env, new Set([...known, ...variables])),
  ];
  const arrange = (side: keyof Settings): object => {
    const { service, logging, ...others } = Object.fromEntries(
      read.map(([name, each]) => [name, each[side]]),
    );
    return { service, logging, plugins: enabled.names, plugin: enabled.read[side], sections: others };
  };
  const config = deepFreeze({ ...arrange("settings"), notes });
  rememberDescription(config, deepFreeze(arrange("shown")));
  return config;
}

type TableSet = Readonly<Record<string, UntypedTable>>;

const ownSections = ["service", "logging", "plugins", "plugin"];

const tableSet: Kind<TableSet> = {
  expects: "an object that maps names (letters, digits and _) to tables (objects with keys)",
  accepts: (value): value is TableSet =>
    typeof value === "object" &&
    value !== null &&
    Object.entries(value).every(
      ([name, table]) =>
        /^[a-z]\w*$/i.test(name) && typeof table === "object" && table !== null && "keys" in table,
    ),
};

const kinds = {
  file: optional(
    either(string(), {
      expects: "a file URL",
      accepts: (value): value is URL => value instanceof URL && value.protocol === "file:",
    }),
  ),
  text: optional(secret(string({ allowEmpty: true }))),
  env: optional(secret(objectWith<Environment>("an object of environment variables"))),
  plugins: withDefault(tableSet, {}),
  defaultPlugins: withDefault(listOf(string()), []),
  sections: withDefault(
    {
      expects: `${tableSet.expects}, other than ${ownSections.join(", ")}`,
      accepts: (value): value is TableSet =>
        tableSet.accepts(value) && !ownSections.some((name) => Object.hasOwn(value, name)),
    },
    {},
  ),
};

// Reads `service.env` before all other settings, because some of their defaults depend on it. Discards its faults:
// reading the whole file reports them again.
function environmentOf(
  root: FileTable,
  shared: Pick<Reading, "fromEnvironment" | "broken" | "env" | "fileIsKnown" | "hasFile">,
): EnvironmentName {
  const scratch: Reading = { ...shared, environment: "local", faults: new FaultList(), notes: [] };
  const { env } = serviceTable.keys;
  const node = typeof root["service"] === "object" ? root["service"] : undefined;
  const { settings } = readTable({ keys: { env } }, node, ["service"], scratch);
  return environmentNames.find((name) => name === settings["env"]) ?? "local";
}

function checkSectionNames(root: FileTable, sections: readonly string[], faults: FaultList): void {
  const known = [...new Set([...ownSections, ...sections])];
  const service: readonly string[] = Object.values(serviceTable.keys).map((entry) => entry.key);
  for (const name of Object.keys(root)) {
    if (known.includes(name)) continue;
    faults.add(keyName([name]), () =>
      service.includes(name) ? "is outside its section; move it below [service]" : unknownOption(name, known),
    );
  }
}

function deepFreeze<T extends object>(value: T): T {
  for (const each of Object.values(value)) {
    if (typeof each === "object" && each !== null && !Object.isFrozen(each)) deepFreeze(each);
  }
  return Object.freeze(value);
}
