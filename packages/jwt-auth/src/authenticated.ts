import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "@svc/context";

type Next = (err?: unknown) => void;

// Exists only in types, so that no other middleware can declare it by accident.
declare const AUTHENTICATED: unique symbol;

/** Type of `res.locals` in the handlers behind a guard. Like Express, it allows any member. */
// oxlint-disable-next-line typescript/no-explicit-any -- with `unknown`, handlers could not use their locals as before
export type AuthenticatedLocals = Record<string, any> & { readonly [AUTHENTICATED]: true };

/**
 * A guard that only admits requests with a verified caller. It is a `Middleware`; in TypeScript, it also lets `principalOf()`
 * know that there is a caller, in the handlers of the same `app.get(path, guard, handler)` call of Express 4 and 5.
 */
export interface AuthGuard {
  (req: IncomingMessage, res: ServerResponse, next: Next): void;
  // TypeScript infers the type parameters of a route from the last signature. It marks `Locals`, because all handlers of a
  // route share this parameter and applications rarely set it. `CallerOf` finds the mark in the type of `req.res.locals`.
  (req: IncomingMessage, res: ServerResponse & { readonly locals: AuthenticatedLocals }, next: Next): void;
}

/** The caller of a request: a principal behind a guard in the same call, otherwise possibly undefined. */
export type CallerOf<R> = R extends { readonly res?: infer Response }
  ? unknown extends Response
    ? Principal | undefined
    : NonNullable<Response> extends { readonly locals: AuthenticatedLocals }
      ? Principal
      : Principal | undefined
  : Principal | undefined;
