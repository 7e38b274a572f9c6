import type { IncomingMessage } from "node:http";

const TEMPLATE: unique symbol = Symbol.for("@svc/context/1/route-template") as never;

interface StatedRequest extends IncomingMessage {
  [TEMPLATE]?: string;
}

/**
 * Sets the template that a request belongs to when no route of Express answers it: for middleware that answers fixed
 * paths, and for bare servers that route by themselves. A route that matches later takes precedence.
 */
export function setRouteTemplate(req: IncomingMessage, template: string): void {
  (req as StatedRequest)[TEMPLATE] = template;
}

/** Returns what `setRouteTemplate` has set for a request, or undefined. */
export function statedRouteTemplate(req: IncomingMessage): string | undefined {
  return (req as StatedRequest)[TEMPLATE];
}
