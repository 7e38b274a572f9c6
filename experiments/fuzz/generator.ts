import { bodyMutations } from "./body-mutations.ts";
import { bytesOf, type Draft, type Mutation } from "./draft.ts";
import { headerMutations } from "./header-mutations.ts";
import type { Random } from "./random.ts";
import { requestLineMutations } from "./request-line-mutations.ts";

/** A request, and the permitted reactions of the service. */
export interface Case {
  readonly bytes: Buffer;
  /** Names of the mutations applied to the request, in order. */
  readonly mutations: readonly string[];
  /** Whether the request must not reach a route. */
  readonly refused: boolean;
  /** Why the service need not respond; undefined when it must respond. */
  readonly unanswered: string | undefined;
  /** The number of pieces in which the request is sent. */
  readonly pieces: number;
}

/**
 * Returns a function that generates one case per call. `maxBody` is the largest body in bytes that the service accepts.
 */
export function createGenerator(random: Random, maxBody: number): () => Case {
  const mutations = [
    ...requestLineMutations(random),
    ...headerMutations(random),
    ...bodyMutations(random, maxBody),
  ];
  const open = mutations.filter((each) => !each.refused);
  const refused = mutations.filter((each) => each.refused);

  return () => {
    const chosen = new Set<Mutation>();
    const isRefused = random.chance(0.5);
    for (let i = random.whole(isRefused ? 3 : 4); i > 0; i--) chosen.add(random.pick(open));
    // Omit a second request: it would be valid, and reach a route after the first one was refused.
    if (isRefused) for (const each of chosen) if (each.name === "second request behind") chosen.delete(each);
    // Apply the refused mutation last, so that no other mutation reverts it.
    if (isRefused) chosen.add(random.pick(refused));
    const draft = fineDraft(random);
    for (const each of chosen) each.apply(draft);
    return {
      bytes: bytesOf(draft),
      mutations: [...chosen].map((each) => each.name),
      refused: isRefused,
      unanswered: [...chosen].find((each) => each.unanswered !== undefined)?.unanswered,
      pieces: random.pick([1, 1, 1, 2, 3]),
    };
  };
}

function fineDraft(random: Random): Draft {
  const lines = ["Host: a"];
  if (random.chance(0.5)) lines.push("Connection: close");
  return { method: "GET", target: "/things/1", version: "HTTP/1.1", lines, body: "", behind: "", before: "" };
}
