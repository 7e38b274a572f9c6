import { readFileSync } from "node:fs";
import type { DemoProvider } from "./demo-provider.ts";

/** What is added to `service.toml`. */
export interface Additions {
  /** The demo provider, which listens on another port at every start, and where it sends visitors back to. */
  readonly demo?: { readonly provider: DemoProvider; readonly redirectUri: string } | undefined;
  /** Origin of the receipts service. */
  readonly receiptsUrl?: string | undefined;
}

/** Returns `service.toml` with additions. */
export function configuration({ demo, receiptsUrl }: Additions): { readonly toml: string } {
  let toml = readFileSync(new URL("../service.toml", import.meta.url), "utf8");
  if (receiptsUrl !== undefined) {
    toml = toml.replace('"tenancy"]', '"tenancy", "http"]');
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
