export { ConfigurationError, type Fault, takesNothing } from "./configuration-error.ts";
export {
  type Definition,
  defineOptions,
  type FileKind,
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
} from "./define-options.ts";
export { type EnvironmentName, environmentNames } from "./environment-names.ts";
export {
  boolean,
  type Bounds,
  bytes,
  either,
  func,
  integer,
  type JsonSchema,
  type Kind,
  listOf,
  number,
  objectWith,
  oneOf,
  optional,
  type OptionalKind,
  secret,
  string,
  type StringRules,
  withDefault,
} from "./kinds.ts";
export { type Names, namesOf, takeOptions, withNames } from "./names.ts";
export { nearestName } from "./nearest.ts";
export { errorText } from "./show.ts";
export { type Kinds, type Resolved, resolveOptions, unknownOption, wrongValue } from "./resolve-options.ts";
