export { ConfigurationError, type Fault } from "./configuration-error.ts";
export {
  boolean,
  type Bounds,
  either,
  func,
  integer,
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
export { nearestName } from "./nearest.ts";
export { type Kinds, type Resolved, resolveOptions, unknownOption, wrongValue } from "./resolve-options.ts";
