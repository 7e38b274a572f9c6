import type { ServerResponse } from "node:http";
import { contextOf, type Principal } from "@svc/context";
import {
  bearerOf,
  isSigned,
  openToken,
  type OpenToken,
  overlooking,
  setBearer,
} from "../support/token-repair.ts";
import type { Mutation } from "./mutation.ts";

export const now = (): number => Math.floor(Date.now() / 1000);

export function overlook(
  heal: (token: OpenToken) => boolean,
  options?: { signed: boolean },
): Mutation["differences"] {
  return { request: overlooking(heal, options) };
}

/** Replaces a claim for which `fits` returns true with `value`, or with the result of the function `value`. */
export function claim(
  name: string,
  fits: (value: unknown) => boolean,
  value: unknown,
): Mutation["differences"] {
  return overlook(({ claims }) => {
    if (!fits(claims[name])) return false;
    claims[name] = typeof value === "function" ? (value as () => unknown)() : value;
    return true;
  });
}

export const isMissing = (value: unknown): boolean => value === undefined;
export const later = (): number => now() + 600;
export const isBetween = (value: unknown, from: number, to: number): boolean =>
  typeof value === "number" && value > now() + from && value < now() + to;

/** Changes the principal that the service has authenticated. */
export function principals(change: (principal: Principal) => Partial<Principal>): Mutation["differences"] {
  return {
    middleware(req, _res, next) {
      const context = contextOf(req);
      if (context?.principal !== undefined) {
        context.principal = { ...context.principal, ...change(context.principal) };
      }
      next();
    },
  };
}

/** Rejects tokens that a sound service accepts. */
export function refusing(fits: (token: OpenToken) => boolean): Mutation["differences"] {
  return {
    request(req) {
      const raw = bearerOf(req);
      const token = raw === undefined ? undefined : openToken(raw);
      if (raw !== undefined && token !== undefined && isSigned(raw) && fits(token)) setBearer(req, undefined);
    },
  };
}

export function problem(res: ServerResponse, status: number, title: string): void {
  res.statusCode = status;
  res.setHeader("Content-Type", "application/problem+json");
  res.end(
    JSON.stringify({
      type: "about:blank",
      title,
      status,
      detail: "authentication required",
      instance: res.req.url?.split("?", 1)[0],
      request_id: contextOf(res.req)?.requestId,
    }),
  );
}

export const isRefresh = ({ claims }: OpenToken): boolean => claims["typ"] === "refresh";
