import { keySetFromJwks } from "./jwk.ts";
import { fetchDocument } from "./key-set-fetch.ts";
import { type KeySetOptions, resolveKeySetOptions } from "./key-set-options.ts";
import { type RefreshedKeySource, refreshedKeys } from "./refreshed-keys.ts";

/**
 * The keys that an issuer publishes (mode `jwks`). They are fetched in the background as soon as this is
 * called, again by age, and again for a token that names a key nobody knows, once a minute at most (KEY-1).
 * What has been fetched is served for as long as the issuer cannot be reached (KEY-4). Only a fetch that is
 * under way keeps the process alive, and that for `timeoutSeconds` at most.
 *
 * @throws ConfigurationError for wrong options, and for a plain http URL in `prod` (KEY-14)
 */
export function createKeySetSource(options: KeySetOptions): RefreshedKeySource {
  const { url, attempts, fetch, algorithms, ...plan } = resolveKeySetOptions(options);
  const { timeoutMs, random } = plan;
  return refreshedKeys({
    ...plan,
    place: url.origin + url.pathname,
    load: async (signal, before) => {
      const document = await fetchDocument({ url, attempts, timeoutMs, fetch, random }, signal);
      return keySetFromJwks(document, algorithms, before);
    },
  });
}
