import type { Middleware } from "@svc/context";
import { checkMembers } from "./check-description.ts";
import { describeHandler, type RouteDescription } from "./description.ts";

/**
 * Returns middleware that only describes its route and validates nothing, for routes whose handlers do not
 * change: `app.get("/old", describes({ summary: "Lists all" }), list)`.
 *
 * @throws TypeError for an invalid description
 */
export function describes(description: Omit<RouteDescription, "method" | "path" | "before">): Middleware {
  checkMembers("describes", description);
  return describeHandler<Middleware>((_req, _res, next) => next(), description as RouteDescription);
}
