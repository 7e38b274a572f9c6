import type { Adapter, AdapterPayload } from "oidc-provider";

/** Maximum number of entries, which limits memory. The sign-ins of a demo need fewer entries. */
const mostEntries = 1000;

interface Entry {
  readonly payload: AdapterPayload;
  readonly endsAt: number;
}

/**
 * Returns the in-memory store of the demo provider: one map per kind of entry, which drops its oldest entry when it is
 * full.
 */
export function demoProviderStore(): Adapter {
  const entries = new Map<string, Entry>();

  function live(id: string): AdapterPayload | undefined {
    const entry = entries.get(id);
    return entry === undefined || entry.endsAt <= performance.now() ? undefined : entry.payload;
  }

  function firstWith(key: "uid" | "userCode", value: string): AdapterPayload | undefined {
    for (const [id, { payload }] of entries) if (payload[key] === value) return live(id);
    return undefined;
  }

  return {
    async upsert(id, payload, expiresInSeconds = Infinity) {
      entries.delete(id);
      const [oldest] = entries.keys();
      if (entries.size >= mostEntries && oldest !== undefined) entries.delete(oldest);
      entries.set(id, { payload, endsAt: performance.now() + expiresInSeconds * 1000 });
    },
    find: async (id) => live(id),
    findByUid: async (uid) => firstWith("uid", uid),
    findByUserCode: async (code) => firstWith("userCode", code),
    async consume(id) {
      const payload = live(id);
      if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
    },
    async destroy(id) {
      entries.delete(id);
    },
    async revokeByGrantId(grantId) {
      for (const [id, { payload }] of entries) if (payload.grantId === grantId) entries.delete(id);
    },
  };
}
