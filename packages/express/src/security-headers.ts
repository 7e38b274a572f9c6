import type { Middleware } from "@svc/context";
import helmet from "helmet";
import {
  ServerResponse,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
} from "node:http";
import { addHeadLines } from "./head-lines.ts";

interface Header {
  readonly name: string;
  /** The name in lower case, as responses look for it. */
  readonly key: string;
  readonly value: string;
}

// An answer that is data needs four: it is never a page, so nothing may be loaded or framed by it.
const forData: readonly Header[] = [
  header("X-Content-Type-Options", "nosniff"),
  header("X-Frame-Options", "DENY"),
  header("Referrer-Policy", "no-referrer"),
  header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
];

const dataLines = forData.map(({ name, value }) => `${name}: ${value}\r\n`).join("");

// oxlint-disable-next-line typescript/unbound-method -- called with the response as this
const nodeWriteHead = ServerResponse.prototype.writeHead as WriteHead;

/**
 * Sets security headers when the head of the response is written: helmet's set on HTML, four fixed ones on all else.
 * A header that the application has set stays as it is (EDGE-6, EDGE-7).
 *
 * @param https whether the service is reached over https; without it the headers that demand https are left out
 */
export function securityHeaders({ https }: { readonly https: boolean }): Middleware {
  const forPages = helmetHeaders(https);

  function secure(res: ServerResponse, statusCode: number, headers: WriteHeadArgument): void {
    // A 304 replaces headers of the answer that is kept, and does not say whether that is a page.
    if (res.headersSent || statusCode === 304) return;
    const set = isHtml(res, headers) ? forPages : forData;
    for (const { key, name, value } of set) if (!res.hasHeader(key)) res.setHeader(name, value);
  }

  /** The common case, data of which nobody has set any of the four; false when it is another. */
  function secureAtOnce(res: ServerResponse, statusCode: number): boolean {
    if (res.headersSent || statusCode === 304 || isHtml(res, undefined)) return false;
    for (const { key } of forData) if (res.hasHeader(key)) return false;
    return addHeadLines(res, dataLines);
  }

  function writeSecureHead(
    this: ServerResponse,
    statusCode: number,
    reason?: WriteHeadArgument,
    headers?: WriteHeadArgument,
  ): ServerResponse {
    // Express exchanges the prototype when another application takes over, so it is asked for each time.
    const { writeHead } = Object.getPrototypeOf(this) as { writeHead: WriteHead };
    // Nobody can set a header any more between here and the head, so none can come twice.
    const isLast = writeHead === nodeWriteHead && headers === undefined && typeof reason !== "object";
    if (!isLast || !secureAtOnce(this, statusCode)) {
      // A head that could not be written before has left its lines behind.
      addHeadLines(this, "");
      secure(this, statusCode, headers ?? reason);
    }
    return writeHead.call(this, statusCode, reason, headers);
  }

  /** Keeps a method that somebody else has put on this one response. */
  function around(writeHead: WriteHead): WriteHead {
    return function writeSecureHeadAround(statusCode, reason, headers) {
      secure(this, statusCode, headers ?? reason);
      return writeHead.call(this, statusCode, reason, headers);
    };
  }

  return function securityHeadersMiddleware(_req, res, next) {
    res.writeHead = Object.hasOwn(res, "writeHead") ? around(ownWriteHead(res)) : writeSecureHead;
    next();
  };
}

type WriteHeadArgument = string | OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined;
type WriteHead = (
  this: ServerResponse,
  statusCode: number,
  reason?: WriteHeadArgument,
  headers?: WriteHeadArgument,
) => ServerResponse;

function ownWriteHead(res: ServerResponse): WriteHead {
  return Object.getOwnPropertyDescriptor(res, "writeHead")?.value as WriteHead;
}

const pages = /^(?:text\/html|application\/xhtml\+xml)/i;

function isHtml(res: ServerResponse, given: WriteHeadArgument): boolean {
  const type = (typeof given === "object" ? typeIn(given) : undefined) ?? res.getHeader("content-type");
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
