import type { Outgoing } from "./http-client.ts";
import type { Probe } from "./option-values.ts";

/** A probe as an object. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
}

/** Additions to a probe for one request. */
export interface Extra {
  readonly token?: string | undefined;
  readonly headers?: readonly (readonly [string, string])[] | undefined;
  readonly host?: string | undefined;
  readonly path?: string | undefined;
  readonly method?: string | undefined;
  readonly body?: string | Buffer | undefined;
  readonly timeoutMs?: number | undefined;
}

export function requestOf(probe: Probe): Request {
  if (typeof probe === "string") {
    const [, method = "GET", path = probe] = /^([A-Z]+) (.+)$/.exec(probe) ?? [];
    return { method, path, headers: [], body: undefined };
  }
  const { method, path, headers = {}, body } = probe;
  const given = Object.entries(headers);
  const isTyped = given.some(([name]) => name.toLowerCase() === "content-type");
  return {
    method: method ?? (body === undefined ? "GET" : "POST"),
    path,
    headers: body === undefined || isTyped ? given : [...given, ["Content-Type", "application/json"]],
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}

/** Returns the request with the additions applied. */
export function withExtra(request: Request, extra: Extra = {}): Outgoing {
  const authorization =
    extra.token === undefined ? [] : [["Authorization", `Bearer ${extra.token}`] as const];
  return {
    method: extra.method ?? request.method,
    path: extra.path ?? request.path,
    headers: [...request.headers, ...authorization, ...(extra.headers ?? [])],
    body: extra.body ?? request.body,
    host: extra.host,
    timeoutMs: extra.timeoutMs,
  };
}
