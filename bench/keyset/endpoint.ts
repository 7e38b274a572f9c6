import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The id of the only published key. */
export const KID = "published";

/** An endpoint that publishes a key set, counts its requests, and can be down. */
export interface Endpoint extends AsyncDisposable {
  readonly url: string;
  readonly fetches: number;
  /** Resets the count, and makes the endpoint respond or fail. */
  become(state: "up" | "out"): void;
}

export async function endpoint(): Promise<Endpoint> {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = { ...publicKey.export({ format: "jwk" }), kid: KID, alg: "ES256", use: "sig" };
  const body = JSON.stringify({ keys: [key] });
  let fetches = 0;
  let up = true;
  const server = createServer((_req, res) => {
    fetches += 1;
    res.statusCode = up ? 200 : 503;
    res.setHeader("content-type", "application/json");
    res.end(up ? body : "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`,
    get fetches() {
      return fetches;
    },
    become(state) {
      up = state === "up";
      fetches = 0;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
