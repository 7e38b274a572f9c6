/** Thrown by the factories of this package for an unknown or invalid option. */
export class OptionError extends TypeError {
  override readonly name = "OptionError";
  readonly code = "ERR_SVC_CONFIGURATION";
}

/** A monotonic clock in milliseconds; tests replace it. */
export type Clock = () => number;

export const monotonic: Clock = () => performance.now();

/** Refuses unknown option names; otherwise a misspelt option would silently keep its default. */
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

export function checkNumber(subject: string, name: string, value: unknown, min: number): void {
  if (typeof value === "number" && Number.isFinite(value) && value >= min) return;
  throw new OptionError(`${subject}: ${name} must be a number of at least ${min}; it is ${String(value)}`);
}

export function checkWhole(subject: string, name: string, value: unknown, min: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= min) return;
  throw new OptionError(
    `${subject}: ${name} must be a whole number of at least ${min}; it is ${String(value)}`,
  );
}

export function checkFunction(subject: string, name: string, value: unknown): void {
  if (value === undefined || typeof value === "function") return;
  throw new OptionError(`${subject}: ${name} must be a function`);
}
