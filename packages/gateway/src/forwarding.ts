import type { Logger } from "@svc/context";
import type { Route } from "./routes.ts";

/** The parameters of an exchange that depend on its request. */
export interface Forwarding {
  readonly route: Route;
  /** The request target for the service. */
  readonly path: string;
  /** Whether the peer of the socket may set `X-Forwarded-*`. */
  readonly isTrusted: boolean;
  readonly logger: Logger | undefined;
}
