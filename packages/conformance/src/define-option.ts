/** Optional details of an option. */
export interface Details {
  readonly default?: unknown;
  /** Describes a computed default. Without `default` and `otherwise` the option has no default. */
  readonly otherwise?: string;
  /** Whether a string is shorthand for `{ request: string }`. */
  readonly orText?: true;
  /** Whether the option is only allowed in a file. */
  readonly fileOnly?: true;
  /** Placeholder for the value on the command line, where the option is `--` and its name, or `--` and `flag`. */
  readonly argument?: string;
  readonly flag?: string;
  readonly required?: true;
}

/**
 * Defines an option that may be omitted.
 * @param kind a name from {@link Values}, or another key of the definition
 */
export function optional<const Kind extends string, const More extends Details = object>(
  kind: Kind,
  meaning: string,
  details?: More,
): { readonly kind: Kind; readonly meaning: string } & More {
  return { kind, meaning, ...(details as More) };
}

export function required<const Kind extends string>(kind: Kind, meaning: string) {
  return optional(kind, meaning, { required: true });
}
