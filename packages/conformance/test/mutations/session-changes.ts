import type { IncomingMessage } from "node:http";
import type { TokenStore } from "@svc/token-store";
import type { Mutation } from "./mutation.ts";
import type { HeldAnswer, Layer } from "../support/mutating-layer.ts";
import { bearerOf, openToken, type OpenToken, setBearer, signToken } from "../support/token-repair.ts";

type Kind = "access" | "refresh";

/** Returns the token pair in a response as a mutable object. */
function pairIn(answer: HeldAnswer, body: Record<string, unknown>): Record<string, unknown> | undefined {
  if (answer.status !== 200) return undefined;
  if (answer.path === "/sign-in") return body["tokens"] as Record<string, unknown>;
  return answer.path === "/auth/refresh" ? body : undefined;
}

/**
 * Changes tokens when they leave the service and restores them when they return, so that the service stays sound. Skips
 * a token for which `change` returns false.
 */
export function dressed(
  change: (token: OpenToken, kind: Kind, isRefreshed: boolean) => boolean,
): Mutation["differences"] {
  const originals = new Map<string, string>();
  return {
    answer(answer) {
      const body = answer.json();
      const pair = pairIn(answer, body);
      if (pair === undefined) return;
      for (const kind of ["access", "refresh"] as const) {
        const original = String(pair[`${kind}_token`]);
        const token = openToken(original);
        if (token === undefined || !change(token, kind, answer.path === "/auth/refresh")) continue;
        const other = signToken(token);
        originals.set(other, original);
        pair[`${kind}_token`] = other;
      }
      answer.setJson(body);
    },
    request(req) {
      const original = originals.get(bearerOf(req) ?? "");
      if (original !== undefined) setBearer(req, original);
    },
    sessions: { refresh: (sound) => (token, signal) => sound(originals.get(token) ?? token, signal) },
  };
}

/** Changes the claims of one kind of token. */
export function claims(
  kind: Kind,
  change: (claims: Record<string, unknown>, isRefreshed: boolean) => void,
): Mutation["differences"] {
  return dressed((token, each, isRefreshed) => {
    if (each === kind) change(token.claims, isRefreshed);
    return each === kind;
  });
}

/** Changes the response to a successful refresh. */
export function refreshed(change: (body: Record<string, unknown>) => void): Mutation["differences"] {
  return changing("/auth/refresh", 200, change);
}

/** Changes the JSON responses of one path that have this status. */
export function changing(
  path: string,
  status: number,
  change: (body: Record<string, unknown>) => void,
): Mutation["differences"] {
  return {
    answer(answer) {
      if (answer.path !== path || answer.status !== status) return;
      const body = answer.json();
      change(body);
      answer.setJson(body);
    },
  };
}

/** Changes operations of the store; `replica` is 0 or 1. */
export function store(
  change: (sound: TokenStore, replica: number) => Partial<TokenStore>,
): Mutation["differences"] {
  return { sessions: { store: (sound, replica) => ({ ...sound, ...change(sound, replica) }) } };
}

export function isLogout(req: IncomingMessage): boolean {
  return req.url === "/auth/logout";
}

/** Returns the claims of the caller's token. */
export function callerOf(req: IncomingMessage): Record<string, unknown> {
  return openToken(bearerOf(req) ?? "")?.claims ?? {};
}

/** Builds a layer that knows whether the kit has requested the path `begin` and not yet `end`. */
export function during(begin: string, end: string, layer: (isOn: () => boolean) => Layer): Layer {
  let isOn = false;
  const inner = layer(() => isOn);
  return {
    ...inner,
    request(req, res) {
      if (req.url === begin) isOn = true;
      if (req.url === end) isOn = false;
      return inner.request?.(req, res);
    },
  };
}
