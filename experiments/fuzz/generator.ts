import { bodyTwists } from "./body-twists.ts";
import { bytesOf, type Draft, type Twist } from "./draft.ts";
import { headerTwists } from "./header-twists.ts";
import type { Random } from "./random.ts";
import { requestLineTwists } from "./request-line-twists.ts";

/** A request and its permitted results. */
export interface Case {
  readonly bytes: Buffer;
  /** Names of its twists, in order. */
  readonly twists: readonly string[];
  /** Whether it must not reach a route. */
  readonly refused: boolean;
  /** Why it may stay without an answer; undefined when it must get one. */
  readonly unanswered: string | undefined;
  /** The number of pieces in which it is sent. */
  readonly pieces: number;
}

/** Returns a function that makes one case per call. `maxBody` is the largest body that the service accepts. */
export function createGenerator(random: Random, maxBody: number): () => Case {
  const twists = [...requestLineTwists(random), ...headerTwists(random), ...bodyTwists(random, maxBody)];
  const open = twists.filter((each) => !each.refused);
  const refused = twists.filter((each) => each.refused);

  return () => {
    const chosen = new Set<Twist>();
    const isRefused = random.chance(0.5);
    for (let i = random.whole(isRefused ? 3 : 4); i > 0; i--) chosen.add(random.pick(open));
    // After a request refused for its content, a second request would be valid and reach a route.
    if (isRefused) for (const each of chosen) if (each.name === "second request behind") chosen.delete(each);
    // Applied last, so that no other twist undoes it.
    if (isRefused) chosen.add(random.pick(refused));
    const draft = fineDraft(random);
    for (const each of chosen) each.apply(draft);
    return {
      bytes: bytesOf(draft),
      twists: [...chosen].map((each) => each.name),
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
