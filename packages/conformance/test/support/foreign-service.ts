import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { randomUUID, verify } from "node:crypto";
import { listen, type Listening } from "@svc/test-support";
import { publicPem } from "./bases.ts";
import { createForeignSessions, type ForeignSessions } from "./foreign-sessions.ts";

/**
 * Starts a hand-written service that meets the contract but follows no convention: its ids contain dashes, `instance`
 * contains the query, it sends no Allow or WWW-Authenticate header and no metrics, its titles come from a later edition
 * of RFC 9110, its leeway is one second longer, every problem has an extra member, it accepts one algorithm only, and
 * it resets the connection for a body that is too long.
 */
export function startForeign(prefix = "", scopeClaim = "scope"): Promise<Listening> {
  const sessions = createForeignSessions();
  return listen(
    createServer((req, res) => {
      if (prefix !== "" && req.url?.startsWith(`${prefix}/`) !== true) {
        res.writeHead(502).end();
        return;
      }
      req.url = req.url?.slice(prefix.length);
      void answer(req, res, sessions, scopeClaim);
    }),
  );
}

type Refusal = readonly [status: number, detail: string];

async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  sessions: ForeignSessions,
  scopeClaim: string,
): Promise<void> {
  const id = req.headers["x-request-id"]?.toString() ?? randomUUID();
  res.setHeader("X-Request-ID", id);
  if (Number(req.headers["content-length"] ?? 0) > 65_536) {
    req.socket.resetAndDestroy();
    return;
  }
  const path = req.url?.split("?", 1)[0] ?? "";
  let body = "";
  if (path === "/auth/refresh") for await (const chunk of req) body += String(chunk);
  req.resume();
  if (path === "/slow") {
    setTimeout(() => problem(req, res, id, [504, "too slow"]), 700);
    return;
  }
  const known = claimsOf(/^Bearer (\S+)$/i.exec(req.headers.authorization ?? "")?.[1]);
  const caller =
    known?.["typ"] === "refresh" || (known && sessions.isRevoked(known))
      ? undefined
      : known && callerOf(known[scopeClaim]);
  const session = req.method === "POST" ? sessionRoutes[path]?.(sessions, caller && known, body) : undefined;
  if (session !== undefined) {
    const [status, pair] = session;
    const answer = req.url?.endsWith("?wrapped") === true ? { session: pair } : pair;
    if (typeof answer === "string") return problem(req, res, id, [status, answer]);
    return send(res, status, "application/json", answer);
  }
  const route = routes[path];
  if (route === undefined) return problem(req, res, id, [404, "nothing is here"]);
  if (req.method !== route.method) return problem(req, res, id, [405, "not this method"]);
  let result: unknown;
  try {
    result = route.run(caller);
  } catch {
    return problem(req, res, id, [500, "something broke"]);
  }
  if (Array.isArray(result)) return problem(req, res, id, result as unknown as Refusal);
  send(res, 200, "application/json; charset=utf-8", result);
}

interface Caller {
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
}

const routes: Readonly<Record<string, { method: string; run(caller: Caller | undefined): unknown }>> = {
  "/health": {
    method: "GET",
    run: () => ({ status: "ok", service: "foreign", version: "9", env: "staging" }),
  },
  "/ready": { method: "GET", run: () => ({ status: "ok", service: "foreign", checks: {} }) },
  "/info": {
    method: "GET",
    run: () => ({ service: "foreign", version: "9", env: "staging", made_of: "other things" }),
  },
  "/open": { method: "GET", run: () => ({}) },
  "/mine": { method: "GET", run: (caller) => (caller === undefined ? [401, "sign in"] : {}) },
  "/orders": {
    method: "GET",
    run(caller) {
      if (caller === undefined) return [401, "sign in"];
      const missing = ["read", "write"].filter((each) => !caller.scopes.includes(each));
      return missing.length === 0 ? {} : [403, `you lack ${missing.join(" and ")}`];
    },
  },
  "/reads": {
    method: "GET",
    run: (caller) => (caller?.scopes.includes("read") === true ? {} : [403, "you lack read"]),
  },
  "/json": { method: "POST", run: () => ({}) },
  "/failing": {
    method: "GET",
    run() {
      throw new Error("a secret of the service");
    },
  },
};

function problem(req: IncomingMessage, res: ServerResponse, id: string, [status, detail]: Refusal): void {
  send(res, status, "application/problem+json; charset=utf-8", {
    type: "https://foreign.example/problems",
    title: STATUS_CODES[status],
    status,
    detail,
    instance: req.url,
    request_id: id,
    timestamp: process.hrtime.bigint().toString(),
  });
}

function send(res: ServerResponse, status: number, type: string, body: unknown): void {
  res.writeHead(status, { "Content-Type": type }).end(JSON.stringify(body));
}

type Claims = Record<string, unknown>;
type SessionClaims = Parameters<ForeignSessions["logout"]>[0];

const sessionRoutes: Readonly<
  Record<
    string,
    (sessions: ForeignSessions, caller: Claims | undefined, body: string) => readonly [number, unknown]
  >
> = {
  "/session": (sessions) => sessions.signIn(),
  "/auth/logout": (sessions, caller) => sessions.logout(caller as SessionClaims),
  "/auth/refresh": (sessions, _caller, body) =>
    sessions.refresh(
      claimsOf((JSON.parse(body) as { refresh_token: string }).refresh_token) as SessionClaims,
    ),
};

function callerOf(scope: unknown): Caller {
  return { scopes: typeof scope === "string" ? scope.split(" ") : [], roles: [] };
}

/** Returns the claims of a valid token; undefined for any other token. */
function claimsOf(token: string | undefined): Claims | undefined {
  const [header = "", payload = "", signature = ""] = token?.split(".") ?? [];
  try {
    const bytes = Buffer.from(`${header}.${payload}`);
    if (!verify("sha256", bytes, publicPem, Buffer.from(signature, "base64url"))) return undefined;
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Claims;
    const now = Date.now() / 1000;
    const { exp, iat, nbf = 0, sub, aud } = claims;
    if (typeof exp !== "number" || typeof iat !== "number" || typeof sub !== "string") return undefined;
    if (exp < now - 31 || Number(nbf) > now + 31) return undefined;
    return [aud].flat().includes("foreign") ? claims : undefined;
  } catch {
    return undefined;
  }
}
