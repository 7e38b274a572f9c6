import type { Middleware } from "@svc/context";
import helmet from "helmet";
import {
  ServerResponse,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
} from "node:http";
import { type Header, isSeeded, seedHeaders } from "./seeded-headers.ts";

// An answer that is data needs four: it is never a page, so nothing may be loaded or framed by it.
const forData: readonly Header[] = [
  header("X-Content-Type-Options", "nosniff"),
  header("X-Frame-Options", "DENY"),
  header("Referrer-Policy", "no-referrer"),
  header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
];

const dataKeys = new Set(forData.map(({ key }) => key));

const REMOVED: unique symbol = Symbol("@svc/express/removed-headers") as never;

/** A response with the names of headers that the application removed; it may not have had them yet. */
interface WithRemovals extends ServerResponse {
  [REMOVED]?: Set<string>;
}

/**
 * Sets security headers: four fixed ones at once, and helmet's set in their place when the head of a page is written.
 * A header that the application sets, appends to or removes stays as it is (EDGE-6, EDGE-7).
 *
 * @param https whether the service is reached over https; without it the headers that demand https are left out
 */
export function securityHeaders({ https }: { readonly https: boolean }): Middleware {
  const forPages = helmetHeaders(https);

  /** Exchanges the headers of data for those of a page. */
  function securePage(res: WithRemovals): void {
    for (const header of forData) if (isSeeded(res, header)) res.setHeader(header.name, pageValue(header));
    for (const { key, name, value } of forPages) {
      const isOwn = dataKeys.has(key) || res.hasHeader(key) || res[REMOVED]?.has(key) === true;
      if (!isOwn) res.setHeader(name, value);
    }
  }

  function pageValue({ key, value }: Header): string {
    return forPages.find((each) => each.key === key)?.value ?? value;
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
    // Express exchanges the prototype when another application takes over, so it is looked up per call.
    const { writeHead } = Object.getPrototypeOf(this) as { writeHead: WriteHead };
    return writeHead.call(this, statusCode, reason, headers);
  }

  /** Keeps a method that another middleware has put on this one response. */
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

/** Also notes the name. A method of the response itself, since an application that a router calls exchanges prototypes. */
function removeAndNote(this: WithRemovals, name: string): void {
  const { removeHeader } = Object.getPrototypeOf(this) as {
    removeHeader: (this: ServerResponse, name: string) => void;
  };
  removeHeader.call(this, name);
  (this[REMOVED] ??= new Set()).add(name.toLowerCase());
}

/** A 304 has none: they would replace those of the stored answer, which may be a page. */
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
  // The most frequent type, which needs no look at its text.
  if (type === "application/json; charset=utf-8") return false;
  return typeof type === "string" && pages.test(type);
}

/** The type in what `writeHead` was given: an object, or a list of names and values in turn. */
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

/** What helmet would set: it is the same on every response, so it is asked once. */
function helmetHeaders(https: boolean): readonly Header[] {
  const set = new Map<string, string>();
  const recorder = {
    setHeader: (name: string, value: string) => void set.set(name, value),
    removeHeader: (name: string) => void set.delete(name),
  };
  const middleware = helmet(
    https
      ? {}
      : {
          strictTransportSecurity: false,
          contentSecurityPolicy: { directives: { "upgrade-insecure-requests": null } },
        },
  );
  middleware({} as IncomingMessage, recorder as unknown as ServerResponse, () => undefined);
  return [...set].map(([name, value]) => header(name, value));
}

function header(name: string, value: string): Header {
  return { name, key: name.toLowerCase(), value };
}
