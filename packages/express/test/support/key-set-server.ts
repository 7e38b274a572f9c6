import { createServer } from "node:http";
import { listen } from "@svc/test-support";

/** A server that publishes an issuer's key set on a free port. */
export interface KeySetServer extends AsyncDisposable {
  readonly url: string;
  /** The number of fetches so far. */
  readonly fetches: number;
}

export async function createKeySetServer(keys: readonly object[]): Promise<KeySetServer> {
  let fetches = 0;
  const listening = await listen(
    createServer((_req, res) => {
      fetches += 1;
      res.setHeader("Content-Type", "application/json");
      res.end(JSON.stringify({ keys }));
    }),
  );
  return {
    url: `http://127.0.0.1:${listening.port}/jwks`,
    get fetches() {
      return fetches;
    },
    [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose](),
  };
}
