import { once } from "node:events";
import { createServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Certificate } from "./certificate.ts";

/** A page of another origin. Disposal stops its server. */
export interface OtherPage extends AsyncDisposable {
  readonly url: string;
}

export async function otherPage(
  { key, cert }: Certificate,
  host: string,
  answer: (res: ServerResponse, req: IncomingMessage) => void,
): Promise<OtherPage> {
  const server = createServer({ key, cert }, (req, res) => answer(res, req));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://${host}:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
