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

  function writeSecureHead(this: ServerResponse, ...args: WriteHeadArguments): ServerResponse {
    if (!this.headersSent) {
      const set = isHtml(this, args) ? forPages : forData;
      for (let i = 0; i < set.length; i++) {
        const header = set[i];
        if (header !== undefined && !this.hasHeader(header[0])) this.setHeader(header[0], header[1]);
      }
    }
    return writeHeadOf(this).apply(this, args);
  }

  return function securityHeadersMiddleware(_req, res, next) {
    res.writeHead = writeSecureHead;
    next();
  };
}

type WriteHeadArguments = [
  statusCode: number,
  ...rest: (string | OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined)[],
];
type WriteHead = (this: ServerResponse, ...args: WriteHeadArguments) => ServerResponse;

// The method is set on the response itself, so the one to call is its prototype's: Express, a compression library
// or Node's own.
function writeHeadOf(res: ServerResponse): WriteHead {
  return (Object.getPrototypeOf(res) as { writeHead: WriteHead }).writeHead;
}

function isHtml(res: ServerResponse, args: WriteHeadArguments): boolean {
  let type: unknown = res.getHeader("content-type");
  const given = args.length > 1 ? args[args.length - 1] : undefined;
  if (type === undefined && typeof given === "object" && !Array.isArray(given)) {
    type = given["content-type"] ?? given["Content-Type"];
  }
  return typeof type === "string" && type.startsWith("text/html");
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
