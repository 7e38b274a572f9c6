import type { IncomingMessage } from "node:http";

const TEMPLATE: unique symbol = Symbol.for("@svc/context/1/route-template") as never;

interface StatedRequest extends IncomingMessage {
  [TEMPLATE]?: string;
}

/**
 * Sets the route template of a request that no Express route handles: for middleware that serves fixed paths, and for
 * bare servers with their own routing. A route that matches later takes precedence.
 */
export function setRouteTemplate(req: IncomingMessage, template: string): void {
  (req as StatedRequest)[TEMPLATE] = template;
}

/** Returns the template that `setRouteTemplate` set for a request; undefined if it was not called. */
export function statedRouteTemplate(req: IncomingMessage): string | undefined {
  return (req as StatedRequest)[TEMPLATE];
}
