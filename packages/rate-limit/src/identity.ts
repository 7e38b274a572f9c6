import { contextOf } from "@svc/context";
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { clientNetwork } from "./address.ts";

/**
 * Returns the identity for which a request counts: the result of `key()`, else the subject, else the tenant, else the
 * client (RATE-4).
 */
export function identityOf(req: IncomingMessage, own: string | undefined): string {
  if (own !== undefined) return labelled("key", own);
  const context = contextOf(req);
  if (context?.principal !== undefined) return labelled("sub", context.principal.subject);
  if (context?.tenantId !== undefined) return labelled("tenant", context.tenantId);
  return `ip:${clientNetwork(req)}`;
}

const PLAIN = /^[^\p{Cc}\p{Surrogate}{}]{1,64}$/u;

// A brace would move the hash tag of the key, and with it the slot in a cluster.
function labelled(kind: string, text: string): string {
  if (PLAIN.test(text)) return `${kind}:${text}`;
  return `${kind}#${createHash("sha256").update(text).digest("base64url")}`;
}
