import type { Middleware } from "@svc/context";
import helmet from "helmet";
import {
  ServerResponse,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
} from "node:http";

type Headers = readonly (readonly [name: string, value: string])[];

// An answer that is data needs four: it is never a page, so nothing may be loaded or framed by it.
const forData: Headers = [
  ["X-Content-Type-Options", "nosniff"],
  ["X-Frame-Options", "DENY"],
  ["Referrer-Policy", "no-referrer"],
  ["Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"],
];

/**
 * Sets security headers when the head of the response is written: helmet's set on HTML, four fixed ones on all else.
 * A header that the application has set stays as it is (EDGE-*).
 *
 * @param https whether the service is reached over https; without it the headers that demand https are left out
 */
export function securityHeaders({ https }: { readonly https: boolean }): Middleware {
  const forPages = helmetHeaders(https);

  function secure(res: ServerResponse, args: WriteHeadArguments): void {
    // A 304 replaces headers of the answer that is kept, and does not say whether that is a page.
    if (res.headersSent || args[0] === 304) return;
    const set = isHtml(res, args) ? forPages : forData;
    for (let i = 0; i < set.length; i++) {
      const header = set[i];
      if (header !== undefined && !res.hasHeader(header[0])) res.setHeader(header[0], header[1]);
    }
  }

  function writeSecureHead(this: ServerResponse, ...args: WriteHeadArguments): ServerResponse {
    secure(this, args);
    // Express exchanges the prototype when another application takes over, so it is asked for each time.
    return (Object.getPrototypeOf(this) as { writeHead: WriteHead }).writeHead.apply(this, args);
  }

  /** Keeps a method that somebody else has put on this one response. */
  function around(writeHead: WriteHead): WriteHead {
    return function writeSecureHeadAround(...args) {
      secure(this, args);
      return writeHead.apply(this, args);
    };
  }

  return function securityHeadersMiddleware(_req, res, next) {
    res.writeHead = Object.hasOwn(res, "writeHead") ? around(ownWriteHead(res)) : writeSecureHead;
    next();
  };
}

type WriteHeadArguments = [
  statusCode: number,
  ...rest: (string | OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined)[],
];
type WriteHead = (this: ServerResponse, ...args: WriteHeadArguments) => ServerResponse;

function ownWriteHead(res: ServerResponse): WriteHead {
  return Object.getOwnPropertyDescriptor(res, "writeHead")?.value as WriteHead;
}

const pages = /^(?:text\/html|application\/xhtml\+xml)/i;

function isHtml(res: ServerResponse, args: WriteHeadArguments): boolean {
  const given = args.length > 1 ? args[args.length - 1] : undefined;
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
function helmetHeaders(https: boolean): Headers {
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
  return [...set];
}
