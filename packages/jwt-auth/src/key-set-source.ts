import { keySetFromJwks } from "./key-set.ts";
import { fetchDocument } from "./key-set-fetch.ts";
import { type KeySetOptions, keySetOptions, refreshPlan } from "./key-set-options.ts";
import { type RefreshedKeySource, refreshedKeys } from "./refreshed-keys.ts";

/**
 * Creates a source of the keys that an issuer publishes (mode `jwks`). Fetches them in the background: immediately, again
 * at `maxAgeSeconds`, and for a token with an unknown key id at most once a minute (KEY-1). Serves the fetched keys
 * while the issuer is unreachable (KEY-4). Only a running fetch keeps the process alive, for at most `timeoutSeconds`.
 *
 * @throws ConfigurationError for invalid options, or a plain http URL in `prod` (KEY-14)
 */
export function createKeySetSource(options: KeySetOptions): RefreshedKeySource {
  const { attempts, fetch, ...settings } = keySetOptions.resolve(options);
  const url = new URL(settings.url);
  const plan = refreshPlan(settings);
  const { algorithms, timeoutMs, now, random } = plan;
  return refreshedKeys({
    ...plan,
    place: url.origin + url.pathname,
    load: async (signal, before) => {
      const document = await fetchDocument({ url, attempts, timeoutMs, fetch, now, random }, signal);
      return keySetFromJwks(document, algorithms, before);
    },
  });
}
