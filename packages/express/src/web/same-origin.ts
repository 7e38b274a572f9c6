import { isOfThisOrigin, type Middleware, pathOf } from "@svc/context";
import { forbidden } from "@svc/problem";
import type { IncomingMessage } from "node:http";

const safeMethods: ReadonlySet<string | undefined> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Rejects with 403 a WebSocket, or a request with an unsafe method, that has a cookie or the body of an HTML form, unless a
 * page of this origin sent it: pages of other sites can make a browser send such requests. Programs that send a bearer token
 * and JSON pass.
 *
 * @param open paths to which other sites may send forms, such as the callbacks of sign-in providers
 * @param isOwnBody returns whether the application itself reads the body of a request, as for a webhook. There, programs may send
 *   the body of a form too. Default: false for all requests.
 */
export function requireSameOrigin(
  open: ReadonlySet<string>,
  isOwnBody: (req: IncomingMessage) => boolean = () => false,
): Middleware {
  return function sameOriginMiddleware(req, _res, next) {
    if (isSafe(req) || !isSentByBrowsers(req) || isOfThisOrigin(req) || open.has(pathOf(req))) next();
    else if (isOfProgram(req) && isOwnBody(req)) next();
    else next(crossOrigin());
  };
}

// Browsers open a WebSocket to any origin, with its cookies.
function isSafe({ method, headers }: IncomingMessage): boolean {
  return safeMethods.has(method) && headers.upgrade?.toLowerCase() !== "websocket";
}

function isSentByBrowsers({ headers }: IncomingMessage): boolean {
  return headers.cookie !== undefined || formTypes.test(headers["content-type"] ?? "");
}

// Browsers send Origin with every POST, and Sec-Fetch-Site in a secure context.
function isOfProgram({ headers }: IncomingMessage): boolean {
  const { cookie, origin, upgrade, "sec-fetch-site": site } = headers;
  return [cookie, origin, upgrade, site].every((each) => each === undefined);
}

// The three types of an HTML form. Browsers let scripts send these to another origin without a preflight request.
const formTypes = /^\s*(?:application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)\s*(?:;|$)/i;

function crossOrigin() {
  return forbidden("this request must come from a page of the same origin", { code: "ERR_SVC_CROSS_ORIGIN" });
}

/** Returns the paths to which sign-in providers redirect users, possibly with a form (`response_mode=form_post`). */
export function loginCallbacks(settings: unknown): ReadonlySet<string> {
  const { providers = {} } = (settings ?? {}) as { readonly providers?: object };
  return new Set(Object.keys(providers).map((name) => `/auth/${name}/callback`));
}
