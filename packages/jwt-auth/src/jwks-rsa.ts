import { createPublicKey, type KeyObject } from "node:crypto";
import { ConfigurationError } from "@svc/options";
import type jwksRsa from "jwks-rsa";
import type { Algorithm } from "./algorithms.ts";
import { algorithmNamed, type KeySet, keySetOf, MOST_KEYS, type UsableKey } from "./key-set.ts";
import { keyFault } from "./key-check.ts";
import { KeySetError } from "./key-set-error.ts";
import { type RefreshOptions, refreshOptions, refreshPlan } from "./key-set-options.ts";
import { refreshedKeys, type RefreshedKeySource } from "./refreshed-keys.ts";

export { expressJwtSecret, passportJwtSecret } from "./secret-provider.ts";
export type { RefreshOptions } from "./key-set-options.ts";
export { KeySetError } from "./key-set-error.ts";
export type { RefreshedKeySource } from "./refreshed-keys.ts";

/** The method of a `jwks-rsa` client that this package calls. */
export type JwksRsaClient = Pick<jwksRsa.JwksClient, "getSigningKeys">;

/** A key from the client. Unlike in the types of `jwks-rsa`, `kid` and `alg` may be missing. */
interface GivenKey {
  readonly kid?: string | undefined;
  readonly alg?: string | undefined;
  getPublicKey(): string;
}

// Limits the pending calls: a call to a client without a timeout may hang forever, and every call holds a connection.
const MOST_PENDING = 4;

/**
 * Creates a key source from the application's own `jwks-rsa` client, including its proxy agent and headers. Always
 * requests the whole set, under the rules of `createKeySetSource()`: one call at a time, with a deadline, a circuit
 * breaker, stale keys and a readiness check. Body size, redirects and attempts are limited by the client itself. Keys
 * from its `getKeysInterceptor` are not used.
 *
 * @throws ConfigurationError for invalid options, or a value that is not a client
 */
export function fromJwksRsa(client: JwksRsaClient, options: RefreshOptions = {}): RefreshedKeySource {
  const plan = refreshPlan(refreshOptions.resolve(options));
  if (typeof (client as Partial<JwksRsaClient> | undefined)?.getSigningKeys !== "function") {
    const message = "must be a jwks-rsa client: it needs getSigningKeys()";
    throw new ConfigurationError(refreshOptions.subject, [{ key: "client", message }]);
  }
  let pending = 0;

  async function load(_signal: AbortSignal, before: KeySet): Promise<KeySet> {
    if (pending >= MOST_PENDING) throw new KeySetError(`${pending} calls of the jwks-rsa client are pending`);
    pending += 1;
    try {
      return keySetFrom(await client.getSigningKeys(), plan.algorithms, before);
    } catch (error) {
      throw clientFailure(error);
    } finally {
      pending -= 1;
    }
  }

  return refreshedKeys({ ...plan, place: "jwks-rsa", load });
}

// Replaces an error of the client, because its message may contain the response body.
function clientFailure(error: unknown): unknown {
  return error instanceof Error && error.name === "JwksError"
    ? new KeySetError("the jwks-rsa client failed, or returned no usable key")
    : error;
}

function keySetFrom(given: readonly GivenKey[], allowed: readonly Algorithm[], before: KeySet): KeySet {
  const keys: UsableKey[] = [];
  for (const each of given) {
    const key = usable(each, allowed, before);
    if (key !== undefined) keys.push(key);
    if (keys.length === MOST_KEYS) break;
  }
  const set = keySetOf(keys);
  if (set.size === 0) throw new KeySetError("the key set has no usable key");
  return set;
}

function usable(given: GivenKey, allowed: readonly Algorithm[], before: KeySet): UsableKey | undefined {
  const { kid } = given;
  const alg = algorithmNamed(given.alg);
  let material: string;
  let key: KeyObject;
  try {
    material = given.getPublicKey();
    key = before.known(material) ?? createPublicKey(material);
  } catch {
    return undefined;
  }
  const algorithms = allowed.filter(
    (each) => (alg === undefined || alg === each) && keyFault(key, each) === undefined,
  );
  return algorithms.length === 0 ? undefined : { kid, algorithms, material, key };
}
