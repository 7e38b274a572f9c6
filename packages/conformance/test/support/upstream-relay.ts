import { listen } from "@svc/test-support";
import { type IncomingHttpHeaders, request } from "node:http";

/** Starts a server between a gateway and the service at a port; it changes the headers of requests and passes them on. */
export async function relayUpstream(
  port: number | undefined,
  change: (headers: IncomingHttpHeaders) => IncomingHttpHeaders,
): Promise<{ readonly port: number } & AsyncDisposable> {
  return listen((req, res) => {
    const { method, url: path } = req;
    request({ host: "127.0.0.1", port, method, path, headers: change(req.headers) }, (answer) => {
      res.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(res);
    }).end();
  });
}
