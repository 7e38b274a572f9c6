import { readFileSync } from "node:fs";
import type { Environment } from "@svc/config";
import type { DemoProvider } from "./demo-provider.ts";

/**
 * Returns the configuration of the service with the demo provider added. The provider's secret differs at every start.
 */
export function demoConfiguration(provider: DemoProvider, redirectUri: string): { readonly toml: string } {
  const file = readFileSync(new URL("../service.toml", import.meta.url), "utf8");
  const table = Object.entries({
    client_id: provider.clientId,
    client_secret: provider.clientSecret,
    redirect_uri: redirectUri,
    issuer: provider.issuer,
    authorization_endpoint: provider.authorizationEndpoint,
    token_endpoint: provider.tokenEndpoint,
    jwks_uri: provider.jwksUri,
    iss_required: true,
  });
  // JSON and TOML write strings like these in the same way.
  const lines = table.map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return { toml: `${file}\n[plugin.auth.providers.demo]\n${lines.join("\n")}\n` };
}

/** Returns the configuration with the last spans kept in memory for `/debug/traces`, unless a collector is set. */
export function withLocalTraces(
  config: { readonly toml: string },
  env: Environment,
): { readonly toml: string } {
  if (env["SVC_TELEMETRY_ENDPOINT"]) return config;
  return { toml: config.toml.replace("[plugin.telemetry]", '[plugin.telemetry]\nexporter = "memory"') };
}
