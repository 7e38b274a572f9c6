import { once } from "node:events";
import { createServer } from "node:http";
import type { KeyObject } from "node:crypto";
import { InvalidUse } from "./faults.ts";
import type { Algorithm } from "./options.ts";
import { newKeyPair } from "./signing.ts";

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

  async function add(name: string, details: object = {}, bits?: number): Promise<ServedKey> {
    const { publicKey, privateKey } = await newKeyPair(algorithm, bits);
    const kid = `kit-${name}-${Math.random().toString(36).slice(2, 10)}`;
    published.push({ ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg: algorithm, ...details });
    return { kid, key: privateKey };
  }
  const first = await add("first");
  const second = await add("second");
  const forEncryption = await add("enc", { use: "enc" });
  // A signature of PS512 does not fit into 1,024 bits.
  const weak = /^[RP]S(?!512$)|^RS512$/.test(algorithm) ? await add("weak", {}, 1024) : undefined;

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
    rotate: () => add("new"),
    setDown(value) {
      down = value;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
