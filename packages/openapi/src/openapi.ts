import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Middleware, routedPathOf } from "@svc/context";
import { type Route, routesOf } from "@svc/route-template";
import { documentFor } from "./describe.ts";
import type { DocumentOptions, OpenApiDocument } from "./document.ts";
import { DOCUMENT_PATH, type OpenApiOptions, openapiOptions } from "./options.ts";
import { docsAssets } from "./page/assets.ts";
import { docsPage } from "./page/docs-page.ts";
import { createResponseChecker, useChecker } from "./response-check.ts";

/** Maximum size of the served document in bytes. The load test reads no larger document. */
const MAX_BYTES = 5 * 1024 * 1024;

const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The result of {@link openapi}: middleware that serves all paths, and the handler of each path. */
export interface OpenApi extends Middleware {
  /** The paths that are served, with their handlers. */
  readonly handlers: readonly { readonly path: string; readonly handler: Middleware }[];
  /**
   * Enables the comparison of the response to a request with its description; undefined without
   * `checkResponses`.
   */
  readonly check: Middleware | undefined;
}

/** The text of a document or a page, generated for one state of the routes. */
interface Made {
  readonly routes: readonly Route[];
  readonly document: OpenApiDocument;
  readonly body: Buffer;
  readonly etag: string;
  page?: Buffer;
}

interface ExpressRequest extends IncomingMessage {
  readonly app?: unknown;
  readonly baseUrl?: string;
}

/**
 * Serves `GET /openapi.json` (DOC-1), the document of all routes of the application, and `GET /docs`, a page
 * to read it (DOC-3). Mount it before the routes whose responses are compared with their descriptions.
 * Generates the document at the first request, and again at the first request after routes were added.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function openapi(given?: OpenApiOptions): OpenApi {
  const options = openapiOptions.resolve(given);
  const { docsPath, logger } = options;
  const documentOptions: DocumentOptions = {
    info: {
      title: options.title ?? "Service",
      version: options.version,
      ...(options.description === undefined ? {} : { description: options.description }),
      ...options.info,
    },
    servers: options.servers.length === 0 ? undefined : options.servers.map((url) => ({ url })),
    tags: options.tags,
    tokenCookie: options.tokenCookie,
    problems: options.problems,
  };
  let made: Made | undefined;

  function current(req: ExpressRequest): Made {
    const routes = routesOf(req.app);
    if (made === undefined || !areSame(made.routes, routes)) {
      const document = documentFor(routes, documentOptions, options.routes?.() ?? []);
      const body = Buffer.from(JSON.stringify(document));
      if (body.length > MAX_BYTES)
        throw new Error(`the OpenAPI document has ${body.length} bytes, more than ${MAX_BYTES}`);
      made = {
        routes,
        document,
        body,
        etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`,
      };
    }
    return made;
  }

  const sendDocument = passingErrors((req, res) => {
    const { body, etag } = current(req);
    res.setHeader("ETag", etag);
    res.setHeader("Cache-Control", "no-cache");
    if (isKnown(req.headers["if-none-match"], etag)) {
      res.statusCode = 304;
      res.end();
    } else {
      send(req, res, "application/json", body);
    }
  });

  const sendPage = passingErrors((req, res) => {
    const state = current(req);
    const { document } = state;
    const { baseUrl = "" } = req;
    const pageAt = (base: string): Buffer =>
      Buffer.from(docsPage({ document, documentPath: base + DOCUMENT_PATH, assetPath: base + docsPath }));
    // Cache only the page without a mount path: below a mount, the client chooses the base path.
    const page = baseUrl === "" ? (state.page ??= pageAt("")) : pageAt(baseUrl);
    res.setHeader("Cache-Control", "no-cache");
    res.setHeader("Content-Security-Policy", PAGE_POLICY);
    send(req, res, "text/html; charset=utf-8", page);
  });

  const assets = Object.entries(docsAssets).map(([name, { type, body }]) => {
    const bytes = Buffer.from(body);
    const handler = passingErrors((req, res) => {
      res.setHeader("Cache-Control", "no-cache");
      send(req, res, type, bytes);
    });
    return { path: `${docsPath}/${name}`, handler };
  });

  const handlers = [
    ...(options.openapi ? [{ path: DOCUMENT_PATH, handler: sendDocument }] : []),
    ...(options.docs ? [{ path: docsPath, handler: sendPage }, ...assets] : []),
  ];
  const byPath = new Map(handlers.map(({ path, handler }) => [path, handler]));
  const checker = options.checkResponses && logger !== undefined ? createResponseChecker(logger) : undefined;
  const check: Middleware | undefined =
    checker &&
    function checkResponses(req, _res, next) {
      useChecker(req, checker);
      next();
    };

  function openapiMiddleware(
    req: IncomingMessage,
    res: ServerResponse,
    next: (error?: unknown) => void,
  ): void {
    const isRead = req.method === "GET" || req.method === "HEAD";
    const handler = isRead ? byPath.get(routedPathOf(req.url ?? "")) : undefined;
    if (handler !== undefined) return handler(req, res, next);
    if (checker !== undefined) useChecker(req, checker);
    next();
  }
  return Object.assign(openapiMiddleware, { handlers, check });
}

/** Passes errors to `next()`, such as the error for a request that did not come from Express. */
function passingErrors(respond: (req: ExpressRequest, res: ServerResponse) => void): Middleware {
  return (req, res, next) => {
    try {
      respond(req, res);
    } catch (error) {
      next(error);
    }
  };
}

function send(req: IncomingMessage, res: ServerResponse, type: string, body: Buffer): void {
  res.setHeader("Content-Type", type);
  res.setHeader("X-Content-Type-Options", "nosniff");
  res.setHeader("Content-Length", body.length);
  res.end(req.method === "HEAD" ? undefined : body);
}

function isKnown(header: string | undefined, etag: string): boolean {
  const known = (header ?? "").trim();
  return known === "*" || known.split(",").some((each) => each.trim().replace(/^W\//, "") === etag);
}

function areSame(before: readonly Route[], now: readonly Route[]): boolean {
  return (
    before.length === now.length &&
    before.every(({ method, path, handlers }, at) => {
      const other = now[at];
      return method === other?.method && path === other.path && handlers.at(-1) === other.handlers.at(-1);
    })
  );
}
