import type { Middleware } from "@svc/context";
import { checkMembers } from "./check-description.ts";
import { describeHandler, type RouteDescription } from "./description.ts";

/**
 * Returns middleware that only describes the route that it is added to, for routes whose handlers stay as they are:
 * `app.get("/old", describes({ summary: "Lists all" }), list)`. It validates nothing.
 *
 * @throws TypeError for a wrong description
 */
export function describes(description: Omit<RouteDescription, "method" | "path" | "before">): Middleware {
  checkMembers("describes", description);
  return describeHandler<Middleware>((_req, _res, next) => next(), description as RouteDescription);
}
