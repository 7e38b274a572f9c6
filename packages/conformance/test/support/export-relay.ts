import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { listen, type Listening } from "@svc/test-support";

/** An object of OTLP's JSON form; the tests change its members. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the type of a member is known where it is changed
export type Json = Record<string, any>;

/**
 * Changes one export in its JSON form.
 *
 * @param send sends another request to the kit
 */
export type ExportChange = (
  request: Json,
  send: (body: string, headers: Readonly<Record<string, string>>) => Promise<unknown>,
) => void | Promise<void>;

/** Starts a server between a service and the kit's receiver that changes the exported spans. */
export function relayExports(kitPort: number | undefined, change: ExportChange): Promise<Listening> {
  return listen((req, res) => {
    void (async () => {
      const send = (body: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
        fetch(`http://127.0.0.1:${kitPort}${req.url}`, {
          method: "POST",
          body,
          headers: { authorization: req.headers.authorization ?? "", ...headers },
        });
      const request = JSON.parse(String(gunzipSync(await buffer(req)))) as Json;
      await change(request, send);
      const { status } = await send(JSON.stringify(request), { "content-type": "application/json" });
      res.writeHead(status, { "content-type": "application/json" }).end("{}");
    })().catch(() => res.destroy());
  });
}
