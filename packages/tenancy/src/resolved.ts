import type { RequestContext } from "@svc/context";
import type { Resolution } from "./resolution.ts";

// A registered symbol, so that guards from another installed copy of this package find the value.
const RESOLVED: unique symbol = Symbol.for("@svc/tenancy/1") as never;

interface WithResolution extends RequestContext {
  [RESOLVED]?: Resolution;
}

/** Stores the resolution of a request for guards and accessors. */
export function remember(context: RequestContext, resolution: Resolution | undefined): void {
  (context as WithResolution)[RESOLVED] = resolution as Resolution;
}

/** Returns the stored resolution, or undefined when `tenancy()` did not run. */
export function resolutionOf(context: RequestContext | undefined): Resolution | undefined {
  return (context as WithResolution | undefined)?.[RESOLVED];
}
