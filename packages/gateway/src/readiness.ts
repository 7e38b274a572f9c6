import type { CheckResult, ReadinessCheck } from "@svc/context";
import type { Route } from "./routes.ts";

/** Returns the readiness check `gateway`. It sends no request, and reports the outcome of client requests. */
export function gatewayReadiness(routes: readonly Route[]): ReadinessCheck {
  return {
    name: "gateway",
    critical: routes.some(({ critical }) => critical),
    check: () => resultOf(routes),
  };
}

function resultOf(routes: readonly Route[]): CheckResult {
  const down = routes.filter(({ targets }) => targets.answering === 0);
  if (down.length > 0) {
    const prefixes = down.map(({ prefix }) => prefix).join(", ");
    return {
      healthy: false,
      critical: down.some(({ critical }) => critical),
      detail: `no target of ${prefixes} is answering`,
    };
  }
  const all = routes.reduce((sum, { targets }) => sum + targets.all.length, 0);
  const answering = routes.reduce((sum, { targets }) => sum + targets.answering, 0);
  return { healthy: true, detail: `${answering} of ${all} targets are answering` };
}
