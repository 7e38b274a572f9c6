import type { Middleware } from "@svc/context";
import { rawBody } from "@svc/json-body";
import { compose } from "@svc/plugin";
import type { Request } from "express";
import type { IncomingMessage } from "node:http";

/** Paths whose bodies the application reads itself. */
export interface BodyPaths {
  /** `req.body` is a `Buffer` with the bytes as sent. */
  readonly rawBodyPaths: readonly string[];
  /** Nothing reads the body. */
  readonly streamBodyPaths: readonly string[];
}

/** Returns the paths of the file together with those of the code. */
export function allBodyPaths(settings: BodyPaths, code: BodyPaths): BodyPaths {
  return {
    rawBodyPaths: [...settings.rawBodyPaths, ...code.rawBodyPaths],
    streamBodyPaths: [...settings.streamBodyPaths, ...code.streamBodyPaths],
  };
}

/** Returns a function that returns whether the application itself reads the body of a request. */
export function readsOwnBody({
  rawBodyPaths,
  streamBodyPaths,
}: BodyPaths): (req: IncomingMessage) => boolean {
  const isOwn = below([...rawBodyPaths, ...streamBodyPaths]);
  return (req) => isOwn(expressPath(req)) > 0;
}

/**
 * Returns the parsers of bodies, replaced on some paths and all paths below them.
 *
 * @param parsers the parsers of all other bodies
 */
export function ownBodies(
  { rawBodyPaths, streamBodyPaths }: BodyPaths,
  maxBytes: number,
  parsers: readonly Middleware[],
): readonly Middleware[] {
  if (rawBodyPaths.length + streamBodyPaths.length === 0) return parsers;
  const isRaw = below(rawBodyPaths);
  const isStream = below(streamBodyPaths);
  const readRaw = rawBody({ maxBytes });
  const parse = compose(parsers);
  const ownBodiesMiddleware: Middleware = (req, res, next) => {
    const path = expressPath(req);
    const raw = isRaw(path);
    const stream = isStream(path);
    // A longer path is more specific, so it takes precedence.
    if (raw > stream) readRaw(req, res, next);
    else if (stream > raw) next();
    else parse(req, res, next);
  };
  return [ownBodiesMiddleware];
}

/**
 * Returns a request's path in lower case, as Express parses it for routing, even from targets such as `/webhooks\github#x` and
 * `http://user@host/webhooks`.
 */
function expressPath(req: IncomingMessage): string {
  const { path } = req as Request as { readonly path: string | null | undefined };
  return path?.toLowerCase() ?? "";
}

/** Returns a function that finds the length of the longest path which contains another path; 0 if none does. */
function below(paths: readonly string[]): (path: string) => number {
  // Express ignores the letter case of paths, so a route may match a path in another case.
  const prefixes = paths.map((path) => path.toLowerCase());
  return (path) => {
    let longest = 0;
    for (const prefix of prefixes) {
      const isBelow =
        path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/");
      if (isBelow && prefix.length > longest) longest = prefix.length;
    }
    return longest;
  };
}
