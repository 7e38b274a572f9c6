import type { ServerResponse } from "node:http";
import type { Mutation } from "./mutation.ts";

/** Changes the JSON responses of one path. */
export function json(
  path: string,
  change: (body: Record<string, unknown>) => unknown,
): Mutation["differences"] {
  return {
    answer(answer) {
      if (answer.path !== path || (answer.status >= 400 && path !== "/ready")) return;
      const body = answer.json();
      answer.setJson(change(body) ?? body);
    },
  };
}

export function answerJson(res: ServerResponse, status: number, body: unknown): true {
  res
    .writeHead(status, { "Content-Type": "application/json", "X-Request-ID": "0" })
    .end(JSON.stringify(body));
  return true;
}

/** Tracks which dependencies the kit has broken and not yet restored. */
export function brokenOnes(): { readonly names: Set<string>; note(url: string | undefined): void } {
  const names = new Set<string>();
  return {
    names,
    note(url = "") {
      const [, what, name = ""] = /^\/(break|restore)\/(\w+)/.exec(url) ?? [];
      if (what === "break") names.add(name);
      if (what === "restore") names.delete(name);
    },
  };
}
