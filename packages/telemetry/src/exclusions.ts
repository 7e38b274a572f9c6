import type { IncomingMessage } from "node:http";
import { pathOf } from "@svc/context";

/**
 * Returns a function that returns whether a request is excluded from tracing: its path equals one of the paths, in which
 * `:name` stands for any one segment.
 */
export function exclusions(paths: readonly string[]): (req: IncomingMessage) => boolean {
  const exact = new Set(paths.filter((path) => !path.includes("/:")).map(withoutSlash));
  const templates = paths.filter((path) => path.includes("/:")).map((path) => withoutSlash(path).split("/"));
  if (templates.length === 0) return (req) => exact.has(withoutSlash(pathOf(req)));
  return (req) => {
    const path = withoutSlash(pathOf(req));
    return exact.has(path) || templates.some((template) => matches(template, path.split("/")));
  };
}

// Express treats a path with a slash at its end as the same path.
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
