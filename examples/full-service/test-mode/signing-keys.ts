import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import {
  addKey,
  generateKey,
  type KeyRing,
  newRing,
  promoteKey,
  type RingDocument,
  SETTLE_SECONDS,
  writeRing,
} from "@svc/token-issuer";

/** The file of keys with which the replicas sign. */
export interface SigningKeys {
  /** The first key, with which the kit creates its own tokens. */
  readonly first: { readonly kid: string; readonly privatePem: string };
  /** Publishes the next key. Resolves when the ring has read it. */
  add(ring: KeyRing): Promise<void>;
  /** Promotes the next key to the signing key. */
  promote(ring: KeyRing): Promise<void>;
}

const patienceMs = 10_000;

export async function createSigningKeys(file: string): Promise<SigningKeys> {
  const first = await generateKey({ algorithm: "ES256" });
  let document = newRing(first, Date.now());

  async function write(next: RingDocument, isRead: () => boolean): Promise<void> {
    document = next;
    await writeFile(file, writeRing(document), { mode: 0o600 });
    const deadline = performance.now() + patienceMs;
    while (!isRead()) {
      if (performance.now() > deadline) throw new Error("the service has not read its file of keys");
      await sleep(10);
    }
  }
  await write(document, () => true);
  return {
    first: {
      kid: first.kid,
      privatePem: first.signing?.export({ type: "pkcs8", format: "pem" }).toString() ?? "",
    },
    async add(ring) {
      const key = await generateKey({ algorithm: "ES256" });
      // Backdate the key, because a key must be published for a while before it may sign.
      const at = Date.now() - 2 * SETTLE_SECONDS * 1000;
      await write(
        addKey(document, key, at),
        () => ring.jwks()?.keys.some(({ kid }) => kid === key.kid) === true,
      );
    },
    async promote(ring) {
      const before = ring.signer().kid;
      await write(promoteKey(document, Date.now()), () => ring.signer().kid !== before);
    },
  };
}
