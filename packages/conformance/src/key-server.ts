import { createServer } from "node:http";
import type { KeyObject } from "node:crypto";
import { InvalidUse } from "./faults.ts";
import { listenAt } from "./listen.ts";
import type { Algorithm } from "./option-values.ts";
import { type KeyPair, newKeyPair } from "./signing.ts";

/** A key in the set that the kit serves. */
export interface ServedKey {
  readonly kid: string;
  readonly key: KeyObject;
}

/** The initial key pairs of every set, generated once because generating RSA keys is slow. Their ids differ per set. */
const made = new Map<string, Promise<KeyPair>>();

function pairOf(name: string, algorithm: Algorithm, bits?: number): Promise<KeyPair> {
  const pair = made.get(`${name} ${algorithm}`) ?? newKeyPair(algorithm, bits);
  made.set(`${name} ${algorithm}`, pair);
  return pair;
}

export type KeyServer = Awaited<ReturnType<typeof serveKeys>>;

/**
 * Serves the key set that the service under test is configured to fetch.
 *
 * @param address `host:port`
 */
export async function serveKeys(address: string, algorithm: Algorithm) {
  if (algorithm.startsWith("HS"))
    throw new InvalidUse([
      `serve-keys: keys.json must name an algorithm with a public key, such as RS256; it names ${algorithm}`,
    ]);
  const published: object[] = [];
  let fetches = 0;
  let down = false;

  function add(name: string, { publicKey, privateKey }: KeyPair, details: object = {}): ServedKey {
    const kid = `kit-${name}-${Math.random().toString(36).slice(2, 10)}`;
    published.push({ ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg: algorithm, ...details });
    return { kid, key: privateKey };
  }
  const first = add("first", await pairOf("first", algorithm));
  const second = add("second", await pairOf("second", algorithm));
  const forEncryption = add("enc", await pairOf("enc", algorithm), { use: "enc" });
  // A 1,024-bit key is too short for a PS512 signature.
  const weak = /^[RP]S(?!512$)|^RS512$/.test(algorithm)
    ? add("weak", await pairOf("weak", algorithm, 1024))
    : undefined;

  const server = createServer((_req, res) => {
    fetches++;
    if (down) {
      res.writeHead(503, { "Content-Type": "text/plain" }).end("down");
      return;
    }
    res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ keys: published }));
  });
  const stop = await listenAt(server, "serve-keys", address);

  return {
    /** A key that is in the set from the start. */
    first,
    second,
    /** A key in the set with `use: enc`, so it must not verify any token. */
    forEncryption,
    /** A 1,024-bit RSA key in the set; undefined if the algorithm cannot use such a key. */
    weak,
    /** Number of requests for the set. */
    get fetches() {
      return fetches;
    },
    /** Adds a new key to the set and returns it. */
    rotate: async () => add("new", await newKeyPair(algorithm)),
    /** Makes the endpoint respond with 503 if `value` is true, else with the set. */
    setDown(value: boolean): void {
      down = value;
    },
    stop,
  };
}
