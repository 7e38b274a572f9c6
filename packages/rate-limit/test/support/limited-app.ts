import { openContext, type Principal } from "@svc/context";
import { problemHandler } from "@svc/problem";
import {
  collectingLogger,
  type CollectingLogger,
  expressMajors,
  listen,
  type Listening,
} from "@svc/test-support";
import type { Express } from "express";

/** An application with a limit, and its logger. */
export interface LimitedApp extends Listening {
  readonly logger: CollectingLogger;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Starts an application whose callers identify themselves: `X-Subject` is the verified subject, `X-Tenant` the granted
 * tenant. It returns the URL for every path, unless `set` adds other routes.
 */
export async function limitedApp(
  set: (app: Express, logger: CollectingLogger) => void,
  express: (typeof expressMajors)["express 5"] = expressMajors["express 5"],
): Promise<LimitedApp> {
  const logger = collectingLogger();
  const app = express();
  app.use((req, _res, next) => {
    const context = openContext(req);
    const { "x-subject": subject, "x-tenant": tenant } = req.headers;
    if (typeof subject === "string") context.principal = { subject } as Principal;
    if (typeof tenant === "string") context.tenantId = tenant;
    next();
  });
  set(app, logger);
  app.use((req, res) => void res.json({ url: req.originalUrl }));
  app.use(problemHandler({ logger }) as never);
  return Object.assign(await listen(app as never), { logger });
}

/** Sends a request, and returns the response with the body of a JSON document. */
export async function ask(app: Listening, path = "/", init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(app.url + path, init);
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? {} : (JSON.parse(text) as Answer["body"]),
  };
}

/** Sends requests one after the other, and returns their status codes. */
export async function statuses(
  app: Listening,
  count: number,
  path = "/",
  init: RequestInit = {},
): Promise<readonly number[]> {
  const all: number[] = [];
  for (let sent = 0; sent < count; sent++) all.push((await ask(app, path, init)).status);
  return all;
}

/** Returns request options for a caller. */
export function as(caller: { subject?: string; tenant?: string; forwardedFor?: string }): RequestInit {
  const { subject, tenant, forwardedFor } = caller;
  return {
    headers: {
      ...(subject === undefined ? {} : { "X-Subject": subject }),
      ...(tenant === undefined ? {} : { "X-Tenant": tenant }),
      ...(forwardedFor === undefined ? {} : { "X-Forwarded-For": forwardedFor }),
    },
  };
}
