import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listen, type Listening } from "@svc/test-support";
import { docsAssets } from "../../src/page/assets.ts";
import { docsPage } from "../../src/page/docs-page.ts";
import type { OpenApiDocument } from "../../src/page/document-shape.ts";

/** The strictest policy that the page works under. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

export interface Received {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface PageServer extends Listening {
  /** The API requests that the server received. */
  readonly received: readonly Received[];
}

type Answer = (req: IncomingMessage, res: ServerResponse) => void;

/** Serves the page of a document, its files, and an API that runs `answer` for every other request. */
export async function servePage(document: OpenApiDocument, answer: Answer): Promise<PageServer> {
  const received: Received[] = [];
  const html = docsPage({ document, documentPath: "/openapi.json", assetPath: "/docs" });
  const files = new Map([
    ["/docs", { type: "text/html; charset=utf-8", body: html }],
    ...Object.entries(docsAssets).map(([name, asset]) => [`/docs/${name}`, asset] as const),
  ]);
  const listening = await listen(
    createServer((req, res) => {
      const file = files.get(req.url ?? "");
      if (file !== undefined) {
        res.setHeader("Content-Security-Policy", POLICY);
        res.setHeader("X-Content-Type-Options", "nosniff");
        res.setHeader("Content-Type", file.type);
        res.end(file.body);
        return;
      }
      void text(req).then((body) => {
        received.push({ line: `${req.method} ${req.url}`, headers: req.headers, body });
        answer(req, res);
      });
    }),
  );
  return Object.assign(listening, { received });
}
