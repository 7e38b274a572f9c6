import type { RequestListener } from "node:http";
import { contextOf, onResponseEnd, openContext } from "@svc/context";
import { routeTemplateOf } from "@svc/route-template";
import { listen } from "@svc/test-support";
import { request } from "node:http";

/** Sends the requests in order to one server and returns `routeTemplateOf` at the end of each response. */
export async function templatesOf(
  app: RequestListener,
  ...paths: readonly string[]
): Promise<(string | undefined)[]> {
  const templates: (string | undefined)[] = [];
  await using server = await listen((req, res) => {
    openContext(req);
    onResponseEnd(req, res, () => {
      if (contextOf(req) === undefined) throw new Error("the context is gone");
      templates.push(routeTemplateOf(req));
    });
    app(req, res);
  });
  for (const path of paths) {
    const before = templates.length;
    await send(server.port, path);
    while (templates.length === before) await new Promise(setImmediate);
  }
  return templates;
}

// Sends a request without normalising its path, unlike `fetch`. The target `POST /x` selects POST; the default is
// GET.
function send(port: number, target: string): Promise<void> {
  const [method, path] =
    target.startsWith("/") || target.startsWith("http") ? ["GET", target] : target.split(" ");
  return new Promise((resolve, reject) => {
    request({ port, host: "127.0.0.1", path: path ?? "/", method: method ?? "GET" }, (response) => {
      response.resume().on("end", resolve);
    })
      .on("error", reject)
      .end();
  });
}
