import { readFileSync } from "node:fs";
import type { DemoProvider } from "./demo-provider.ts";

/** Additions to `service.toml`. */
export interface Additions {
  /**
   * The demo provider, which listens on another port at every start, and the callback URL to which it redirects visitors.
   */
  readonly demo?: { readonly provider: DemoProvider; readonly redirectUri: string } | undefined;
  /** Whether the service has a Redis, in REDIS_URL, and limits the requests of each caller. */
  readonly hasRedis?: boolean | undefined;
  /** Origin of the receipts service. */
  readonly receiptsUrl?: string | undefined;
}

/** Returns `service.toml` with additions. */
export function configuration({ demo, hasRedis = false, receiptsUrl }: Additions): { readonly toml: string } {
  let toml = readFileSync(new URL("../service.toml", import.meta.url), "utf8");
  if (hasRedis) {
    toml = toml.replace(/^(enabled = .*)\]$/m, '$1, "cache", "rate_limit"]');
    toml += table("plugin.cache", { url: "${REDIS_URL}", key_prefix: "expenses:" });
    // A page of one visitor causes several requests.
    toml += table("plugin.rate_limit", { limit: 1000 });
  }
  if (receiptsUrl !== undefined) {
    toml = toml.replace(/^(enabled = .*)\]$/m, '$1, "http"]');
    toml += table("plugin.http.upstreams.receipts", { base_url: receiptsUrl });
  }
  if (demo !== undefined) toml += table("plugin.auth.providers.demo", providerKeys(demo));
  return { toml };
}

function providerKeys({ provider, redirectUri }: NonNullable<Additions["demo"]>): object {
  return {
    client_id: provider.clientId,
    client_secret: provider.clientSecret,
    redirect_uri: redirectUri,
    issuer: provider.issuer,
    authorization_endpoint: provider.authorizationEndpoint,
    token_endpoint: provider.tokenEndpoint,
    jwks_uri: provider.jwksUri,
    iss_required: true,
  };
}

function table(name: string, keys: object): string {
  // JSON and TOML write strings like these in the same way.
  const lines = Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `\n[${name}]\n${lines.join("\n")}\n`;
}
