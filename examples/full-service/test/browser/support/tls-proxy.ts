import { once } from "node:events";
import { request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Certificate } from "./certificate.ts";

/** A TLS proxy in front of a service that speaks plain HTTP. */
export interface TlsProxy {
  readonly port: number;
  /** Sets the port on 127.0.0.1 to which requests are forwarded. */
  forwardTo(port: number): void;
  stop(): Promise<void>;
}

/** Terminates TLS and sets `X-Forwarded-*` as the proxy of a deployment does. */
export async function startTlsProxy({ key, cert }: Certificate): Promise<TlsProxy> {
  let target: number | undefined;
  const server = createServer({ key, cert }, (req, res) => {
    const headers = {
      ...req.headers,
      "x-forwarded-for": req.socket.remoteAddress ?? "",
      "x-forwarded-host": req.headers.host ?? "",
      "x-forwarded-proto": "https",
    };
    const { method, url } = req;
    const onward = request({ host: "127.0.0.1", port: target, method, path: url, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    onward.on("error", () => {
      if (!res.headersSent) res.writeHead(502);
      res.end();
    });
    req.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    forwardTo(port) {
      target = port;
    },
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
