import { setCheckedHeader } from "@svc/context";
import type { IncomingMessage } from "node:http";
import type { ExpressApp, ExpressResponse } from "./express-app.ts";
import type { ResponseLayer } from "./response-layer.ts";
import { weakEtag, weakEtagOfText } from "./weak-etag.ts";

/** The Express methods that `res.json` uses, each with a pattern that matches only the source of Express's own method. */
const ownMethods = {
  json: /json escape[^]*json replacer[^]*json spaces/,
  send: /etag fn[^]*fresh[^]*Transfer-Encoding/,
  set: /Content-Type cannot be set to an Array/,
  get: /^function\s*\w*\s*\(\w+\)\s*\{\s*return this\.getHeader\(\w+\);?\s*\}$/,
} as const;

/**
 * Gives responses a `json` method that handles the common case in one step: GET, status 200, one argument, no
 * conditional request, default settings, and none of Content-Type, ETag and Transfer-Encoding set. Express's methods
 * handle all other cases. They also handle every case after one of them was replaced, so that the replacement receives
 * the same calls as before.
 *
 * @param expressTag Express's own weak ETag function; undefined if the application does not use it
 */
export function answerJsonInOneStep(
  app: ExpressApp,
  { define, inherited }: ResponseLayer,
  end: unknown,
  expressTag: unknown,
): void {
  const { json: ownJson, send: ownSend, set: ownSet, get: ownGet } = inherited();
  // The source differs when a tool has already replaced a method.
  const areOwn = Object.entries({ json: ownJson, send: ownSend, set: ownSet, get: ownGet }).every(
    ([name, method]) => ownMethods[name as keyof typeof ownMethods].test(String(method)),
  );
  const freshOwner = ownerOfFresh(app.request);
  if (!areOwn || freshOwner === undefined) return;

  const json: ExpressResponse["json"] = function json(value, ...more) {
    const { json: original } = inherited();
    const { settings } = this.app;
    const isOwn =
      original === ownJson &&
      this.send === ownSend &&
      this.set === ownSet &&
      this.get === ownGet &&
      this.end === end;
    if (!isOwn || more.length > 0 || !hasDefaults(settings)) return original.call(this, value, ...more);

    const body = JSON.stringify(value) as string | undefined;
    const tagged = usesTag(settings);
    // Check this after toJSON() has run, because it may change the response.
    if (body === undefined || tagged === undefined || !isPlain(this, freshOwner)) {
      if (!this.get("Content-Type")) this.set("Content-Type", "application/json");
      return this.send(body);
    }
    const length = Buffer.byteLength(body);
    setCheckedHeader(this, "content-type", "Content-Type", "application/json; charset=utf-8");
    setCheckedHeader(this, "content-length", "Content-Length", String(length));
    if (tagged) setCheckedHeader(this, "etag", "ETag", weakEtagOfText(body, length));
    // Without an ETag, Express sends a short string as UTF-8 text, otherwise bytes. Do the same, because Node encodes the
    // headers in the same way as a string body.
    if (!tagged && body.length < 1000) this.end(body, "utf8");
    else if (length === body.length) this.end(body, "latin1");
    else this.end(Buffer.from(body));
    return this;
  };
  define("json", json);

  /** Returns whether responses get the weak ETag; undefined for a strong ETag or the application's own function. */
  function usesTag({ "etag fn": make }: ExpressApp["settings"]): boolean | undefined {
    if (make === undefined) return false;
    return make === weakEtag || make === expressTag ? true : undefined;
  }
}

function hasDefaults(settings: ExpressApp["settings"]): boolean {
  return !settings["json replacer"] && !settings["json spaces"] && !settings["json escape"];
}

function isPlain(res: ExpressResponse, freshOwner: object): boolean {
  const { method, headers } = res.req;
  return (
    res.statusCode === 200 &&
    !res.headersSent &&
    method === "GET" &&
    headers["if-none-match"] === undefined &&
    headers["if-modified-since"] === undefined &&
    res.getHeader("content-type") === undefined &&
    res.getHeader("etag") === undefined &&
    res.getHeader("transfer-encoding") === undefined &&
    hasFreshOf(freshOwner, res.req)
  );
}

/** Returns the prototype that has Express's own `req.fresh`; undefined if the application has replaced it. */
function ownerOfFresh(request: object): object | undefined {
  let owner: object | null = request;
  while (owner !== null && !Object.hasOwn(owner, "fresh"))
    owner = Object.getPrototypeOf(owner) as object | null;
  // oxlint-disable-next-line typescript/unbound-method -- read, never called
  const getter = owner === null ? undefined : Object.getOwnPropertyDescriptor(owner, "fresh")?.get;
  return owner !== null && String(getter).includes("last-modified") ? owner : undefined;
}

// Without a conditional header, Express's getter returns false. Do not call it: that would cost more than all other checks.
function hasFreshOf(owner: object, req: IncomingMessage): boolean {
  let each: object | null = req;
  while (each !== owner) {
    if (each === null || Object.hasOwn(each, "fresh")) return false;
    each = Object.getPrototypeOf(each) as object | null;
  }
  return true;
}
