import { createCache } from "@svc/cache";
import { createMemoryTokenStore, type TokenStore } from "@svc/token-store";
import { createPostgresTokenStore } from "@svc/token-store/postgres";
import { createRedisTokenStore } from "@svc/token-store/redis";
import { Pool } from "pg";

/** The store of a case and its address. The setting of the case contains it as JSON. */
export type Place =
  | { readonly store: "memory" | "none" }
  | { readonly store: "redis" | "ioredis"; readonly url: string; readonly keyPrefix: string }
  | { readonly store: "postgres"; readonly url: string };

// The store must hold more entries than one run creates.
const MARKS = 2_000_000;

export async function openStore(place: Place): Promise<TokenStore> {
  if (place.store === "redis") {
    const cache = createCache({ url: place.url, keyPrefix: place.keyPrefix });
    return createRedisTokenStore({ redis: cache.redis });
  }
  if (place.store === "postgres") {
    const store = createPostgresTokenStore({ db: new Pool({ connectionString: place.url, max: 10 }) });
    await store.ensureSchema();
    return store;
  }
  return createMemoryTokenStore({ maxEntries: MARKS });
}
