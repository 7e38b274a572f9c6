import { defineOptions, type EnvironmentName, fault, kinds as k, type OptionsOf } from "@svc/options";
import { keySetFromJwks } from "./key-set.ts";
import { KeySetError } from "./key-set-error.ts";
import { fetchDocument, type FetchPlan } from "./key-set-fetch.ts";
import { keySetOptions, refreshFaults, refreshPlan, urlFault } from "./key-set-options.ts";
import { type RefreshedKeySource, refreshedKeys } from "./refreshed-keys.ts";
import { isObject, own } from "./token-parser.ts";

const { url: _url, ...keySetKeys } = keySetOptions.keys;

export const discoveryOptions = defineOptions("createDiscoveredKeySource()", {
  ...keySetKeys,
  /** The issuer: an http or https URL without user, password, query and fragment. Required. */
  issuer: { kind: k.secret(k.string({ allowEmpty: true })) },
}).withCheck(function* (options, name) {
  const message = issuerFault(options.issuer, options.env);
  if (message !== undefined) yield fault("issuer", message);
  yield* refreshFaults(options, name);
});

/**
 * Creates a source of the keys that an issuer publishes at the `jwks_uri` of its discovery document (OpenID Connect Discovery
 * 1.0). Fetches both documents in each refresh, by the rules of `createKeySetSource()`, so that a `jwks_uri` may
 * change. The document must name exactly this issuer, and an https issuer only an https `jwks_uri`.
 *
 * @throws ConfigurationError for invalid options, or a plain http issuer in `prod` (KEY-14)
 */
export function createDiscoveredKeySource(options: OptionsOf<typeof discoveryOptions>): RefreshedKeySource {
  const { attempts, fetch, issuer, ...settings } = discoveryOptions.resolve(options);
  // OpenID Connect Discovery 1.0, section 4: the path is appended to the issuer, without its trailing slash.
  const place = issuer.replace(/\/$/, "");
  const url = new URL(`${place}/.well-known/openid-configuration`);
  const plan = refreshPlan(settings);
  const { algorithms, timeoutMs, now, random } = plan;
  // A slow discovery must not shorten the time that an attempt for the key set gets.
  const limits = { attempts, fetch, now, random, leastMs: timeoutMs / attempts };
  return refreshedKeys({
    ...plan,
    place,
    load: async (signal, before) => {
      const endsAt = now() + timeoutMs;
      const found = await discover({ ...limits, url, timeoutMs }, signal);
      const keysUrl = keySetUrl(found, issuer);
      const document = await fetchDocument({ ...limits, url: keysUrl, timeoutMs: endsAt - now() }, signal);
      return keySetFromJwks(document, algorithms, before);
    },
  });
}

async function discover(plan: FetchPlan, signal: AbortSignal): Promise<unknown> {
  try {
    return await fetchDocument(plan, signal);
  } catch (error) {
    throw error instanceof KeySetError ? new KeySetError(`discovery failed: ${error.reason}`, error) : error;
  }
}

/** @throws KeySetError for a document of another issuer, or without a key set that can be fetched safely */
function keySetUrl(document: unknown, issuer: string): URL {
  if (!isObject(document) || own(document, "issuer") !== issuer)
    throw new KeySetError("the discovery document does not name this issuer");
  const given = own(document, "jwks_uri");
  const url = typeof given === "string" ? URL.parse(given) : null;
  // Only an http issuer, which `prod` does not allow, may have an http key set.
  const env = issuer.startsWith("http:") ? "local" : "prod";
  if (url === null || urlFault(url, env) !== undefined)
    throw new KeySetError("the discovery document has no jwks_uri that may be fetched");
  return url;
}

function issuerFault(issuer: string, env: EnvironmentName): string | undefined {
  const url = URL.parse(issuer);
  if (url === null) return "must be a URL with discovery";
  return (
    urlFault(url, env) ??
    (/[?#]/.test(issuer) ? "must have no query and no fragment with discovery" : undefined)
  );
}
