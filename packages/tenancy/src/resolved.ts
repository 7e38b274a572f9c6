import type { RequestContext } from "@svc/context";
import type { Resolution } from "./resolution.ts";

// Of the registry, so that the guards of another installed copy find it.
const RESOLVED: unique symbol = Symbol.for("@svc/tenancy/1") as never;

interface WithResolution extends RequestContext {
  [RESOLVED]?: Resolution;
}

/** Keeps what was found out about a request, for guards and accessors. */
export function remember(context: RequestContext, resolution: Resolution | undefined): void {
  (context as WithResolution)[RESOLVED] = resolution as Resolution;
}

/** What was found out; undefined where `tenancy()` has not run. */
export function resolutionOf(context: RequestContext | undefined): Resolution | undefined {
  return (context as WithResolution | undefined)?.[RESOLVED];
}
