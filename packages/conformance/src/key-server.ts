import { once } from "node:events";
import { createServer } from "node:http";
import type { KeyObject } from "node:crypto";
import { InvalidUse } from "./faults.ts";
import type { Algorithm } from "./options.ts";
import { type KeyPair, newKeyPair } from "./signing.ts";

/** A key of the set that the kit serves. */
export interface ServedKey {
  readonly kid: string;
  readonly key: KeyObject;
}

/** The key set endpoint that the service under test was told to fetch from. */
export interface KeyServer {
  /** In the set from the beginning. */
  readonly first: ServedKey;
  readonly second: ServedKey;
  /** In the set with `use: enc`: it must not verify anything. */
  readonly forEncryption: ServedKey;
  /** In the set although its RSA key has 1,024 bits; absent for other algorithms. */
  readonly weak: ServedKey | undefined;
  /** How often the set was asked for. */
  readonly fetches: number;
  /** Adds a key from here on. */
  rotate(): Promise<ServedKey>;
  /** Whether the endpoint answers 503 instead. */
  setDown(down: boolean): void;
  stop(): Promise<void>;
}

/** The pairs that every key set begins with, made once: making RSA keys takes long. Their ids differ from set to set. */
const made = new Map<string, Promise<KeyPair>>();

function pairOf(name: string, algorithm: Algorithm, bits?: number): Promise<KeyPair> {
  const pair = made.get(`${name} ${algorithm}`) ?? newKeyPair(algorithm, bits);
  made.set(`${name} ${algorithm}`, pair);
  return pair;
}

/** @param address `host:port` */
export async function serveKeys(address: string, algorithm: Algorithm): Promise<KeyServer> {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(address) ?? [];
  if (host === undefined || port === undefined) {
    throw new InvalidUse([`serve-keys: ${JSON.stringify(address)} is not host:port`]);
  }
  if (algorithm.startsWith("HS")) throw new InvalidUse([`serve-keys: ${algorithm} has no public key`]);
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
  // A signature of PS512 does not fit into 1,024 bits.
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
  server.listen(Number(port), host.replace(/^\[|\]$/g, ""));
  try {
    await once(server, "listening");
  } catch (error) {
    throw new InvalidUse([
      `serve-keys: cannot listen on ${address}: ${(error as NodeJS.ErrnoException).code}`,
    ]);
  }

  return {
    first,
    second,
    forEncryption,
    weak,
    get fetches() {
      return fetches;
    },
    rotate: async () => add("new", await newKeyPair(algorithm)),
    setDown(value) {
      down = value;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
