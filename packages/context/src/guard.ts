import type { Middleware } from "./types.ts";

/** What a guard requires, which tools that describe routes read under `Symbol.for("@svc/guard")`. */
export interface Guard {
  /** For example `scopes`. */
  readonly kind: string;
  /** For example the scopes that it requires. */
  readonly values: readonly string[];
}

const GUARD: unique symbol = Symbol.for("@svc/guard") as never;

/** Returns the middleware, described as a guard for {@link guardOf}. */
export function describeGuard(kind: string, values: readonly string[], guard: Middleware): Middleware {
  return Object.assign(guard, { [GUARD]: Object.freeze({ kind, values: Object.freeze([...values]) }) });
}

/** Returns the description of a guard; undefined for another handler. */
export function guardOf(handle: object): Guard | undefined {
  return (handle as { readonly [GUARD]?: Guard })[GUARD];
}
