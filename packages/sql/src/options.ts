import { OptionError } from "./errors.ts";

/** Rejects unknown option names: with a misspelt name, the option would silently keep its default. */
export function checkNames(subject: string, options: object, known: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    throw new OptionError(`${subject}: the options must be an object`);
  }
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new OptionError(`${subject}: ${name} is unknown; expected one of ${known.join(", ")}`);
    }
  }
}

export function checkWhole(subject: string, name: string, value: unknown): void {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return;
  throw new OptionError(`${subject}: ${name} must be a whole number of at least 0; it is ${String(value)}`);
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function checkTimeout(subject: string, name: string, value: unknown): void {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= LONGEST_TIMER_MS) return;
  throw new OptionError(
    `${subject}: ${name} must be a whole number from 1 to ${LONGEST_TIMER_MS}; it is ${String(value)}`,
  );
}
