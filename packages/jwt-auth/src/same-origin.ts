import type { IncomingMessage } from "node:http";
import { isOfThisOrigin } from "@svc/context";

const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Returns whether a request may be authenticated by credentials that browsers send automatically: it has a safe method,
 * or it comes from a page of this origin (AUTH-34).
 */
export function mayCarryCookies(req: IncomingMessage): boolean {
  return SAFE_METHODS.has(req.method) || isOfThisOrigin(req);
}
