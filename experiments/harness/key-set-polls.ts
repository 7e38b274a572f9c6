import { setTimeout as delay } from "node:timers/promises";
import { send } from "./client.ts";

/** Polls key-set endpoints until `end()`, and collects the published keys. */
export interface KeySetPolls {
  end(): Promise<void>;
  readonly polls: number;
  /** Names of private members found in published keys. */
  readonly leaks: readonly string[];
  readonly kids: ReadonlySet<string>;
  /** Failed requests, and responses without keys. */
  readonly faults: readonly string[];
}

const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] as const;

export function pollKeySets(
  endpoints: readonly { readonly port: number; readonly path: string }[],
  everyMs: number,
): KeySetPolls {
  const stop = new AbortController();
  const leaks: string[] = [];
  const faults: string[] = [];
  const kids = new Set<string>();
  let polls = 0;

  async function poll(port: number, path: string): Promise<void> {
    while (!stop.signal.aborted) {
      const { status, body, error } = await send(port, path);
      polls += 1;
      if (status === 200) look(body);
      else faults.push(error ?? String(status));
      await delay(everyMs);
    }
  }

  function look(body: string): void {
    const { keys } = JSON.parse(body) as { readonly keys: readonly Readonly<Record<string, unknown>>[] };
    if (keys.length === 0) faults.push("no keys");
    for (const key of keys) {
      kids.add(String(key["kid"]));
      leaks.push(...privateMembers.filter((member) => Object.hasOwn(key, member)));
    }
  }

  const polling = endpoints.map(({ port, path }) => poll(port, path));
  return {
    async end() {
      stop.abort();
      await Promise.all(polling);
    },
    get polls() {
      return polls;
    },
    leaks,
    kids,
    faults,
  };
}
