import type { Environment } from "@svc/config";
import type { ServiceOptions } from "@svc/express";
import { ConfigurationError } from "@svc/options";
import type { RefreshHook } from "@svc/token-issuer";
import type { TokenStore } from "@svc/token-store";
import { type ExpensesOptions, expensesService } from "../src/service.ts";
import { testRoutes } from "./routes.ts";
import type { SigningKeys } from "./signing-keys.ts";
import { switchedChecks, switchedHook, switchedStore, type Switches } from "./switches.ts";

/** Options of {@link testModeService}. */
export interface TestModeOptions extends ExpensesOptions {
  readonly keys: SigningKeys;
  readonly switches: Switches;
}

/**
 * Returns the options of the example with routes that break it on request, only for the conformance kit.
 *
 * @throws ConfigurationError when `SVC_ENV` is `prod`
 */
export function testModeService(
  env: Environment,
  { keys, switches, ...options }: TestModeOptions,
): ServiceOptions {
  refuseInProduction(env["SVC_ENV"]);
  const example = expensesService(env, options);
  return {
    ...example,
    config: new URL("service.toml", import.meta.url),
    checks: [...(example.checks ?? []), ...switchedChecks(switches)],
    auth: {
      ...example.auth,
      revocation: switchedStore(example.auth?.revocation as TokenStore, switches),
      onRefresh: switchedHook(example.auth?.onRefresh as RefreshHook, switches),
    },
    async routes(app, service) {
      // Check again, because the configuration trims the variable.
      refuseInProduction(service.config.service.env);
      testRoutes(app, service, keys, switches);
      await example.routes?.(app, service);
    },
  };
}

/** @throws ConfigurationError when `SVC_ENV` is `prod` */
export function refuseInProduction(environment: string | undefined): void {
  if (environment !== "prod") return;
  throw new ConfigurationError("the test mode of the example", [
    {
      key: "SVC_ENV",
      message: "must not be prod: a client can break the service with one request; use local, dev or staging",
    },
  ]);
}
