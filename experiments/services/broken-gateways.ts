import type { RouteOptions } from "@svc/gateway";
import { type IncomingMessage, request, type ServerResponse } from "node:http";

type Next = (error?: unknown) => void;
type Proxy = (req: IncomingMessage, res: ServerResponse, next: Next) => void;

function targetOf(routes: readonly RouteOptions[], { url = "" }: IncomingMessage): string | undefined {
  return routes.find(({ prefix }) => url.startsWith(prefix))?.targets[0];
}

/** Middleware that sends a POST through the gateway again after a response of 500 or above. */
export const repeatPosts: Proxy = (req, res, next) => {
  if (req.method === "POST" && req.headers["x-repeated"] === undefined) {
    res.on("finish", () => res.statusCode >= 500 && repeat(req));
  }
  next();
};

function repeat({ url: path, socket, headers: given }: IncomingMessage): void {
  const headers = { ...given, "content-length": "0", "x-repeated": "1" };
  const port = socket.localPort ?? 0;
  const sent = request({ host: "127.0.0.1", port, path, method: "POST", headers, agent: false });
  sent.on("response", (answer) => answer.resume()).on("error", () => undefined);
  sent.end();
}

/** A gateway that forwards bytes without waiting for the other side to read them. */
export function withoutBackpressure(routes: readonly RouteOptions[]): Proxy {
  return (req, res, next) => {
    const target = targetOf(routes, req);
    if (target === undefined) return next();
    const { method, headers } = req;
    const sent = request(new URL(req.url ?? "", target), { method, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode ?? 502);
      answer.on("data", (chunk: Buffer) => void res.write(chunk));
      answer.on("end", () => res.end()).on("error", () => res.destroy());
    });
    sent.on("error", () => res.destroy());
    req.on("data", (chunk: Buffer) => void sent.write(chunk));
    req.on("end", () => sent.end()).on("close", () => req.complete || sent.destroy());
    res.on("close", () => sent.destroy());
  };
}
