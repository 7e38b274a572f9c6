import type { Logger, Middleware } from "@svc/context";
import { atMostEvery } from "@svc/resilience";
import { ServerResponse, type OutgoingHttpHeader, type OutgoingHttpHeaders } from "node:http";
import { helmetHeaders, merged, ownHelmetHeaders, type PageHelmet } from "./helmet-headers.ts";
import { type Header, header, isSeeded, seedHeaders } from "./seeded-headers.ts";

// A data response needs only these four headers: it is not a page, so it must not load anything or be framed.
const forData: readonly Header[] = [
  header("X-Content-Type-Options", "nosniff"),
  header("X-Frame-Options", "DENY"),
  header("Referrer-Policy", "no-referrer"),
  header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
];

const dataKeys = new Set(forData.map(({ key }) => key));

const REMOVED: unique symbol = Symbol("@svc/express/removed-headers") as never;

/** A response with the names of headers that the application removed, possibly before they were set. */
interface WithRemovals extends ServerResponse {
  [REMOVED]?: Set<string>;
}

interface SecurityHeadersOptions {
  readonly https: boolean;
  readonly pageHeaders?: readonly Header[] | undefined;
  readonly helmet?: PageHelmet | undefined;
  readonly logger?: Logger | undefined;
}

/** Minimum pause between two log records about a failing function of the application, in milliseconds. */
const errorPauseMs = 10_000;

/**
 * Sets four fixed security headers immediately, and replaces them with helmet's headers when an HTML page is sent.
 * Keeps headers that the application sets, appends to or removes (EDGE-6, EDGE-7).
 *
 * @param https whether clients use https; if false, headers that require https are omitted
 * @param pageHeaders headers of pages that replace helmet's, but not those that `helmet` decides. Default: none
 * @param helmet the application's options of helmet for pages. If it throws, the page gets the headers without options, and
 *   `logger` an error, at most every 10 seconds. Default: none
 * @throws ConfigurationError for options that helmet refuses
 */
export function securityHeaders(options: SecurityHeadersOptions): Middleware {
  const { https, pageHeaders = [], helmet, logger } = options;
  const fixed = merged(helmetHeaders(https), pageHeaders);
  const own = helmet && ownHelmetHeaders(helmet, https, pageHeaders);

  const report = atMostEvery(errorPauseMs, (suppressed: number, err: unknown) => {
    const fields = suppressed === 0 ? { err } : { err, suppressed };
    logger?.error(fields, "the option helmet failed; the page has the default security headers");
  });

  function headersOf(res: ServerResponse): readonly Header[] {
    if (own === undefined) return fixed;
    try {
      return own(res.req, res);
    } catch (err) {
      report(err);
      return fixed;
    }
  }

  /** Replaces the data headers with page headers. */
  function securePage(res: WithRemovals): void {
    const forPages = headersOf(res);
    for (const header of forData) {
      if (!isSeeded(res, header)) continue;
      const page = forPages.find(({ key }) => key === header.key);
      if (page === undefined) res.removeHeader(header.name);
      else res.setHeader(header.name, page.value);
    }
    for (const { key, name, value } of forPages) {
      const isOwn = dataKeys.has(key) || res.hasHeader(key) || res[REMOVED]?.has(key) === true;
      if (!isOwn) res.setHeader(name, value);
    }
  }

  function secure(res: ServerResponse, statusCode: number, given: WriteHeadArgument): void {
    if (res.headersSent) return;
    if (statusCode === 304) leaveOut(res);
    else if (isHtml(res, given)) securePage(res);
  }

  function writeSecureHead(
    this: ServerResponse,
    statusCode: number,
    reason?: WriteHeadArgument,
    headers?: WriteHeadArgument,
  ): ServerResponse {
    secure(this, statusCode, headers ?? reason);
    // Look up the prototype at each call, because Express changes it when another application handles the request.
    const { writeHead } = Object.getPrototypeOf(this) as { writeHead: WriteHead };
    return writeHead.call(this, statusCode, reason, headers);
  }

  /** Wraps a `writeHead` that other middleware has set on this response. */
  function around(writeHead: WriteHead): WriteHead {
    return function writeSecureHeadAround(statusCode, reason, headers) {
      secure(this, statusCode, headers ?? reason);
      return writeHead.call(this, statusCode, reason, headers);
    };
  }

  return function securityHeadersMiddleware(_req, res, next) {
    seedHeaders(res, forData);
    const own = res.writeHead === ServerResponse.prototype.writeHead ? undefined : ownWriteHead(res);
    res.writeHead = own === undefined ? writeSecureHead : around(own);
    if (!Object.hasOwn(res, "removeHeader")) res.removeHeader = removeAndNote;
    next();
  };
}

/**
 * Removes a header and records its name. Assign it to the response itself, because Express may change the prototype.
 */
function removeAndNote(this: WithRemovals, name: string): void {
  const { removeHeader } = Object.getPrototypeOf(this) as {
    removeHeader: (this: ServerResponse, name: string) => void;
  };
  removeHeader.call(this, name);
  (this[REMOVED] ??= new Set()).add(name.toLowerCase());
}

/**
 * Removes the headers from a 304, because they would replace the headers of the cached response, which may be a page.
 */
function leaveOut(res: ServerResponse): void {
  for (const header of forData) if (isSeeded(res, header)) res.removeHeader(header.name);
}

type WriteHeadArgument = string | OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined;
type WriteHead = (
  this: ServerResponse,
  statusCode: number,
  reason?: WriteHeadArgument,
  headers?: WriteHeadArgument,
) => ServerResponse;

function ownWriteHead(res: ServerResponse): WriteHead | undefined {
  return Object.getOwnPropertyDescriptor(res, "writeHead")?.value as WriteHead | undefined;
}

const pages = /^(?:text\/html|application\/xhtml\+xml)/i;

function isHtml(res: ServerResponse, given: WriteHeadArgument): boolean {
  const type = (typeof given === "object" ? typeIn(given) : undefined) ?? res.getHeader("content-type");
  // Check the most frequent type first, for speed.
  if (type === "application/json; charset=utf-8") return false;
  return typeof type === "string" && pages.test(type);
}

/**
 * Returns the content type from the headers passed to `writeHead`: an object, or a list of alternating names and
 * values.
 */
function typeIn(headers: OutgoingHttpHeaders | OutgoingHttpHeader[]): unknown {
  if (Array.isArray(headers)) {
    const at = headers.findIndex((each, index) => index % 2 === 0 && isContentType(each));
    return at === -1 ? undefined : headers[at + 1];
  }
  const name = Object.keys(headers).find(isContentType);
  return name === undefined ? undefined : headers[name];
}

function isContentType(name: unknown): boolean {
  return typeof name === "string" && name.toLowerCase() === "content-type";
}
