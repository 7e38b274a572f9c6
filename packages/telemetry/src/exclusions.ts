import type { IncomingMessage } from "node:http";
import { pathOfTarget } from "@svc/context";

/**
 * Returns a function that returns whether a request is excluded from tracing: its path equals one of the paths, in which
 * `:name` stands for any one segment.
 */
export function exclusions(paths: readonly string[]): (req: IncomingMessage) => boolean {
  const exact = new Set(paths.filter((path) => !path.includes("/:")).map(withoutSlash));
  const templates = paths.filter((path) => path.includes("/:")).map((path) => withoutSlash(path).split("/"));
  const beginnings = [...exact, ...templates.map(beginningOf)];
  return (req) => {
    const target = targetOf(req);
    // Almost no request is excluded, so extract the path only if the target begins like an excluded path.
    if (!beginsWith(target, beginnings)) return false;
    const path = withoutSlash(pathOfTarget(target));
    return exact.has(path) || templates.some((template) => matches(template, path.split("/")));
  };
}

function targetOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { readonly originalUrl?: unknown };
  return typeof originalUrl === "string" ? originalUrl : (req.url ?? "");
}

/** Returns whether the path in a target may begin with one of the strings; an absolute URL may have any path. */
function beginsWith(target: string, beginnings: readonly string[]): boolean {
  for (const beginning of beginnings) if (target.startsWith(beginning)) return true;
  return !target.startsWith("/");
}

/** Returns the part of a template before its first `:name`. */
function beginningOf(template: readonly string[]): string {
  const end = template.findIndex((part) => part.startsWith(":"));
  return template.slice(0, end).join("/");
}

// Express ignores a trailing slash in a path.
function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

function matches(template: readonly string[], segments: readonly string[]): boolean {
  return (
    template.length === segments.length &&
    template.every((part, index) =>
      part.startsWith(":") ? segments[index] !== "" : part === segments[index],
    )
  );
}
