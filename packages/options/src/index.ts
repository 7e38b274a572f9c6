export { ConfigurationError, fault, type Fault, takesNothing } from "./configuration-error.ts";
export {
  type CheckableDefinition,
  type Definition,
  defineOptions,
  type FileKind,
  fileOptions,
  inSeconds,
  type NamedOptionTables,
  type Option,
  type OptionEntries,
  type OptionsCheck,
  type OptionsOf,
  type OptionTable,
  pickOptions,
  type ResolvedOptions,
  variablesOf,
  type WithMethods,
} from "./define-options.ts";
export { environmentHint, type EnvironmentName, environmentNames } from "./environment-names.ts";
export * as kinds from "./kinds.ts";
export {
  boolean,
  type Bounds,
  type Bytes,
  bytes,
  checkName,
  either,
  environmentKind,
  environmentName,
  fetchKind,
  func,
  instanceOf,
  integer,
  isHttpOrigin,
  isServerUrl,
  type JsonSchema,
  type Kind,
  listOf,
  LONGEST_MS,
  milliseconds,
  monotonicClock,
  number,
  objectWith,
  oneOf,
  optional,
  type OptionalKind,
  secret,
  string,
  type StringRules,
  wallClock,
  withDefault,
} from "./kinds.ts";
export { type Names, namesOf, optionError, takeOptions, withNames } from "./names.ts";
export { nearestName } from "./nearest.ts";
export { errorText } from "./show.ts";
export {
  isOptionsObject,
  type Kinds,
  type Resolved,
  resolveOptions,
  unknownOption,
  wrongValue,
} from "./resolve-options.ts";
