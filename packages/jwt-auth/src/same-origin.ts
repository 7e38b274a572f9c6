import type { IncomingMessage } from "node:http";
import { isOfThisOrigin } from "@svc/context";

const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Whether a request that a browser may have put credentials on by itself changes nothing, or comes from a page of this
 * origin (AUTH-34).
 */
export function mayCarryCookies(req: IncomingMessage): boolean {
  return SAFE_METHODS.has(req.method) || isOfThisOrigin(req);
}
