import { currentContext, type Logger } from "@svc/context";
import { safeLogger } from "@svc/resilience";

/**
 * Logs to the logger of the current request, else to `fallback`. Ignores errors of the logger, because a refresh that
 * has used up its token must still return the new pair.
 */
export function say(
  fallback: Logger | undefined,
  level: "info" | "warn",
  fields: object,
  message: string,
): void {
  const { log = fallback, requestId = "" } = currentContext() ?? {};
  safeLogger(log)?.[level](requestId === "" ? fields : { ...fields, request_id: requestId }, message);
}
