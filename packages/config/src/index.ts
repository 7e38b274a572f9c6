export { describeConfig } from "./describe-config.ts";
export { type EnvironmentName, environmentNames } from "@svc/options";
export { type Environment, processEnvironment, readText } from "./environment.ts";
export { configurationExitCode, loadConfig } from "./load-config.ts";
export type { Config, LoadOptions } from "./options.ts";
export { pluginNames } from "./plugin-names.ts";
export { highestBasePort, portOffsets, type Ports, ports } from "./ports.ts";
export {
  type CorsSettings,
  type LoggingSettings,
  loggingTable,
  type ServiceSettings,
  serviceTable,
} from "./service-table.ts";
export type {
  Entry,
  Key,
  KeyKind,
  NamedTables,
  SettingsByName,
  SubTable,
  Table,
  TableFault,
  Tables,
} from "./table.ts";
