export {
  type Command,
  type CommandLine,
  type CommandLineDefinition,
  type Defaults,
  defineCommandLine,
  type FailureDetails,
  type Given,
  InvalidUse,
  type Setting,
  type Values,
} from "./command-line.ts";
export { oneOf, type Reader, text, wholeNumber } from "./readers.ts";
