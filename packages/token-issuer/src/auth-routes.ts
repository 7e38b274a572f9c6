import type { IncomingMessage, ServerResponse } from "node:http";
import {
  contextOf,
  enterContext,
  type Middleware,
  pathOfTarget,
  type Principal,
  setRouteTemplate,
} from "@svc/context";
import { objectWith, resolveOptions, string, withDefault } from "@svc/options";
import { methodNotAllowed, notFoundError, sendJson, unauthorized } from "@svc/problem";
import { refreshTokenOf } from "./refresh-body.ts";
import type { TokenIssuer } from "./token-issuer.ts";

/** Options of `authRoutes()`. */
export interface AuthRoutesOptions {
  /** Prefix of `/logout`, `/refresh` and `/me`; the path of the key set is fixed. Default: `/auth`. */
  readonly prefix?: string | undefined;
}

interface Route {
  readonly methods: readonly string[];
  answer(req: IncomingMessage, res: ServerResponse): void | Promise<void>;
}

const KEY_SET_PATH = "/.well-known/jwks.json";
const reads: readonly string[] = ["GET", "HEAD"];
const privately = { "Cache-Control": "no-store" } as const;

/**
 * Serves `POST {prefix}/logout`, `POST {prefix}/refresh`, `GET {prefix}/me` and `GET /.well-known/jwks.json`, and passes all
 * other requests on. Mount it at the root of the application, after the middleware that verifies callers.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function authRoutes(issuer: TokenIssuer, options?: AuthRoutesOptions): Middleware {
  const { prefix } = resolveOptions("authRoutes()", options, {
    prefix: withDefault(
      string({ allowEmpty: true, pattern: /^(?:\/[\w.~-]+)*$/, expects: "a path such as /auth" }),
      "/auth",
    ),
  });
  resolveOptions(
    "authRoutes()",
    { issuer },
    { issuer: objectWith<TokenIssuer>("a token issuer", "refresh", "logout") },
  );
  const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
    [`${prefix}/logout`, { methods: ["POST"], answer: (req, res) => logout(issuer, req, res) }],
    [`${prefix}/refresh`, { methods: ["POST"], answer: (req, res) => refresh(issuer, req, res) }],
    [`${prefix}/me`, { methods: reads, answer: me }],
    [KEY_SET_PATH, { methods: reads, answer: (req, res) => keySet(issuer, req, res) }],
  ]);

  return function authRoutesMiddleware(req, res, next) {
    const path = pathOfTarget(req.url ?? "");
    const route = routes.get(path);
    // The CORS middleware handles OPTIONS.
    if (route === undefined || req.method === "OPTIONS") {
      next();
      return;
    }
    // A mount path may contain client input (`/:tenant`), so set no route template below it.
    if (!(req as Mounted).baseUrl) setRouteTemplate(req, path);
    if (!route.methods.includes(req.method ?? "")) {
      next(methodNotAllowed(route.methods));
      return;
    }
    enterContext(req, res, () => void answered(route, req, res).catch(next));
  };
}

interface Mounted extends IncomingMessage {
  readonly baseUrl?: string;
}

async function answered(route: Route, req: IncomingMessage, res: ServerResponse): Promise<void> {
  await route.answer(req, res);
}

/** Handles `POST {prefix}/logout` (ISS-5 to ISS-8). */
async function logout(issuer: TokenIssuer, req: IncomingMessage, res: ServerResponse): Promise<void> {
  await issuer.logout(callerOf(req));
  // The timeout middleware may have sent a response already.
  if (res.headersSent) return;
  res.writeHead(204, privately);
  res.end();
}

/** Handles `POST {prefix}/refresh` (REF-1, REF-2). */
async function refresh(issuer: TokenIssuer, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const token = await refreshTokenOf(req);
  const gone = new AbortController();
  const onClose = (): void => gone.abort();
  res.once("close", onClose);
  if (res.closed) gone.abort();
  try {
    const pair = await issuer.refresh(token, gone.signal);
    if (!res.headersSent) sendJson(req, res, 200, pair, privately);
  } catch (error) {
    // A client that disconnected, or got the 504 of a timeout, may retry with the same token.
    if (error !== gone.signal.reason) throw error;
  } finally {
    res.off("close", onClose);
  }
}

/** Handles `GET {prefix}/me` (ISS-9). */
function me(req: IncomingMessage, res: ServerResponse): void {
  const { subject, tenant, scopes, roles, tokenId } = callerOf(req);
  const body = {
    subject,
    tenant_id: tenant ?? null,
    scopes: scopes.toSorted(),
    roles: roles.toSorted(),
    token_id: tokenId ?? null,
  };
  sendJson(req, res, 200, body, privately);
}

/** Handles `GET /.well-known/jwks.json` (ISS-15). */
function keySet(issuer: TokenIssuer, req: IncomingMessage, res: ServerResponse): void {
  const published = issuer.jwks();
  if (published === undefined) throw notFoundError();
  const { body, etag, cacheControl } = published;
  const headers = { "Cache-Control": cacheControl, ETag: etag };
  if (isKnown(req.headers["if-none-match"], etag)) {
    res.writeHead(304, headers);
    res.end();
  } else {
    sendJson(req, res, 200, Buffer.from(body), headers);
  }
}

/** Compares entity tags weakly (RFC 9110 section 13.1.2). */
function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const tags = header.split(",").map((each) => each.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}

function callerOf(req: IncomingMessage): Principal {
  const principal = contextOf(req)?.principal;
  if (principal === undefined) throw unauthorized();
  return principal;
}
