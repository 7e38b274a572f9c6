import { readFileSync } from "node:fs";
import type { DemoProvider } from "./demo-provider.ts";

/** The configuration of the service, with the provider of the demo added to it: that one is another at every start. */
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
  // What JSON says of texts like these, TOML says too.
  const lines = table.map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return { toml: `${file}\n[plugin.auth.providers.demo]\n${lines.join("\n")}\n` };
}
