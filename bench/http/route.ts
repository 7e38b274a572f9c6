import type { Express } from "express";
import { requestBytes, type RequestBytes } from "../harness/request-bytes.ts";

/** The route that every case serves. */
export const routePath = "/api/items/:id";

/** What it answers: 71 bytes of JSON for an id of two digits. */
export function item(id: string): object {
  return { id, name: "a thing with a name!", price: 12.5, tags: ["a", "b"] };
}

/** The route in Express, of either major. */
export function addRoute(app: Pick<Express, "get">): void {
  app.get(routePath, (req, res) => {
    res.json(item(req.params.id));
  });
}

/** Sixty-four requests with traces of their own and without a request id, so that one is minted. */
export const requests: readonly RequestBytes[] = Array.from({ length: 64 }, (_, index) =>
  requestBytes("GET", urlOf(index), {
    Host: "localhost:8000",
    "User-Agent": "bench/1.0",
    Accept: "application/json",
    traceparent: traceparentOf(index),
  }),
);

export function urlOf(index: number): string {
  return `/api/items/${10 + (index % 64)}`;
}

function traceparentOf(index: number): string {
  const hex = (0x1a2b3c4d * (index + 1)).toString(16).padStart(16, "0").slice(-16);
  return `00-${hex}${hex}-${hex}-01`;
}
