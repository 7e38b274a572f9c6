import type { ServiceOptions } from "@svc/express";
import type { Embed } from "@svc/search-store";
import request from "supertest";
import type { TestService } from "./test-service.ts";

/** Returns a deterministic embedding of three dimensions, computed from the letters of a text; never all zeros. */
export const embed: Embed = (texts) =>
  texts.map((text) => {
    const count = (letters: RegExp): number => text.match(letters)?.length ?? 0;
    return [1 + count(/[a-g]/gi), 1 + count(/[h-p]/gi), 1 + count(/[q-z]/gi)];
  });

/** Returns the part of a file that follows `[service]`, with the plugin `rag` and a database. */
export function ragToml(keys = 'tenant = "-"', enabled = '"database", "rag"', more = ""): string {
  return `
[plugins]
enabled = [${enabled}]
[plugin.database]
url = "\${DATABASE_URL}"
[plugin.queue]
poll = 0.05
[plugin.rag]
dimensions = 3
${keys}
${more}
`;
}

/** Returns the options of a service with the plugin `rag` on a database. */
export function ragOn(url: string, toml = ragToml()): ServiceOptions & { readonly toml: string } {
  return { toml, env: { DATABASE_URL: url }, rag: { embed, embedder: "letters" } };
}

export interface Check {
  readonly healthy: boolean;
  readonly critical: boolean;
  readonly detail: string;
}

/** Returns the status of `/ready`, and its check of the search. */
export async function searchCheckOf({
  url,
}: Pick<TestService, "url">): Promise<Check & { readonly http: number }> {
  const { status, body } = await request(url).get("/ready");
  const { checks } = body as { readonly checks: Readonly<Record<string, Check>> };
  const check = checks["search"];
  if (check === undefined) throw new Error("there is no check search");
  const { healthy, critical, detail } = check;
  return { http: status, healthy, critical, detail };
}
