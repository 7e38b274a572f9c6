import { pathOfTarget } from "@svc/context";
import type { ResolvedRoute } from "./options.ts";
import type { Targets } from "./targets.ts";

const SLASH = 0x2f;
const QUESTION_MARK = 0x3f;
const HASH = 0x23;
const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const DOT = 0x2e;
const SEMICOLON = 0x3b;

/** One prefix and the service behind it. */
export interface Route extends Omit<ResolvedRoute, "targets"> {
  readonly targets: Targets;
  /** The route's name in metrics and logs, such as `/api/*`. */
  readonly template: string;
  /** Prefixes of other routes inside this one, in lower case. */
  readonly inner: readonly string[];
}

/** @param all the prefixes of all routes */
export function makeRoute(options: ResolvedRoute, targets: Targets, all: readonly string[]): Route {
  const outer = options.prefix.toLowerCase();
  const inner = all.map((prefix) => prefix.toLowerCase()).filter((each) => each.startsWith(`${outer}/`));
  return { ...options, targets, template: `${options.prefix}/*`, inner };
}

/** Returns the routes sorted by the length of their prefixes, longest first, for {@link findRoute}. */
export function sortRoutes(routes: readonly Route[]): readonly Route[] {
  return routes.toSorted((a, b) => b.prefix.length - a.prefix.length);
}

/**
 * Returns the route for a request target. Targets that are not a plain path, such as `http://host/api` and `//api`, match a
 * route too, so that the gateway rejects them and the next middleware does not receive them.
 *
 * @param routes as sorted by {@link sortRoutes}
 */
export function findRoute(routes: readonly Route[], target: string): Route | undefined {
  const path = isPlainPath(target) ? target : pathOfTarget(target).replace(/^\/+/, "/");
  for (const route of routes) if (isInside(path, route.prefix)) return route;
  return undefined;
}

function isPlainPath(target: string): boolean {
  return target.charCodeAt(0) === SLASH && target.charCodeAt(1) !== SLASH;
}

function isInside(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false;
  const end = path.charCodeAt(prefix.length);
  return path.length === prefix.length || end === SLASH || end === QUESTION_MARK || end === HASH;
}

/**
 * Returns the request target to send to the service; undefined if a server could read it as a path outside the prefix: a
 * dot segment, an encoded slash, a backslash, an empty first segment, or a target that is not a path. Also undefined for a
 * non-normalized path that a server could read as a path of a nested route, because that route may be stricter.
 */
export function forwardedTarget({ prefix, stripPrefix, inner }: Route, target: string): string | undefined {
  if (!isPlainPath(target) || !staysInside(target)) return undefined;
  if (inner.length > 0 && isSpelledLike(inner, target)) return undefined;
  if (!stripPrefix) return target;
  const rest = target.slice(prefix.length);
  if (rest.charCodeAt(0) !== SLASH) return `/${rest}`;
  return isPlainPath(rest) ? rest : undefined;
}

/**
 * Returns whether a server could read a path as one inside these prefixes: servers decode paths, and many ignore case, empty
 * segments, white space at the end of a segment and the part after a semicolon.
 */
function isSpelledLike(prefixes: readonly string[], target: string): boolean {
  const path = pathOfTarget(target)
    .replace(/%([2-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .toLowerCase()
    .replace(/;[^/]*/g, "")
    .replace(/\s+(?=\/|$)/g, "")
    .replace(/\/{2,}/g, "/");
  return prefixes.some((prefix) => isInside(path, prefix));
}

/** Returns whether a path stays inside its prefix. Reads the path once, because this runs for every request. */
function staysInside(target: string): boolean {
  for (let at = 0; at < target.length; at += 1) {
    const code = target.charCodeAt(at);
    if (code === QUESTION_MARK) return !target.includes("#", at);
    if (code === BACKSLASH || code === HASH) return false;
    if (code === PERCENT && isEncodedSlash(target, at)) return false;
    if (code === SLASH && isDotSegment(target, at + 1)) return false;
  }
  return true;
}

function isEncodedSlash(target: string, at: number): boolean {
  const encoded = target.slice(at + 1, at + 3).toLowerCase();
  return encoded === "2f" || encoded === "5c";
}

// Some servers ignore the part of a segment after a semicolon, and treat `..;x` as a dot segment.
function isDotSegment(target: string, start: number): boolean {
  let at = start;
  let dots = 0;
  for (; dots <= 2; dots += 1) {
    if (target.charCodeAt(at) === DOT) at += 1;
    else if (target.charCodeAt(at) === PERCENT && target.slice(at + 1, at + 3).toLowerCase() === "2e")
      at += 3;
    else break;
  }
  if (dots === 0 || dots > 2) return false;
  const end = target.charCodeAt(at);
  return (
    at >= target.length ||
    end === SLASH ||
    end === QUESTION_MARK ||
    end === SEMICOLON ||
    isEncodedSemicolon(target, at)
  );
}

function isEncodedSemicolon(target: string, at: number): boolean {
  return target.slice(at, at + 3).toLowerCase() === "%3b";
}
