import type { Middleware } from "./types.ts";

/** The requirement of a guard. Tools that describe routes read it under `Symbol.for("@svc/guard")`. */
export interface Guard {
  /** The type of requirement, for example `scopes`. */
  readonly kind: string;
  /** The required values, for example scope names. */
  readonly values: readonly string[];
}

const GUARD: unique symbol = Symbol.for("@svc/guard") as never;

/** Adds to a guard the description that {@link guardOf} returns. Returns the same guard. */
export function describeGuard(kind: string, values: readonly string[], guard: Middleware): Middleware {
  return Object.assign(guard, { [GUARD]: Object.freeze({ kind, values: Object.freeze([...values]) }) });
}

/** Returns a guard's description; undefined for any other handler. */
export function guardOf(handle: object): Guard | undefined {
  return (handle as { readonly [GUARD]?: Guard })[GUARD];
}
