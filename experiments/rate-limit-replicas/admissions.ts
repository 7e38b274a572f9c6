/** The times at which a request was sent and answered, by `performance.now()`. */
export interface Span {
  readonly replica: number;
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** One request for a key. */
export interface Asked extends Span {
  readonly key: string;
  readonly status: number;
}

/** The bucket of every key. */
export interface Numbers {
  readonly burst: number;
  readonly ratePerMs: number;
}

/**
 * Returns by how many requests the worst interval exceeds `burst + rate x time`. A request was counted at some moment between
 * `sentAt` and `answeredAt`, so an interval lasts at most from the first `sentAt` to the last `answeredAt`.
 */
export function excessOf(asked: readonly Asked[], { burst, ratePerMs }: Numbers): number {
  const admitted = asked.filter(({ status }) => status === 200);
  const byAnswer = admitted.toSorted((a, b) => a.answeredAt - b.answeredAt);
  let worst = -Infinity;
  for (const { sentAt } of admitted) {
    let count = 0;
    for (const each of byAnswer) {
      if (each.sentAt < sentAt) continue;
      count += 1;
      worst = Math.max(worst, count - burst - ratePerMs * (each.answeredAt - sentAt));
    }
  }
  return worst;
}

/**
 * Returns the number of requests that should have been admitted between two refusals but were not, in a period without
 * pauses between requests. The bucket had less than one token at both refusals, so requests took all tokens that it gained
 * in between.
 */
export function shortageOf(asked: readonly Asked[], { ratePerMs }: Numbers): number {
  const refused = asked.filter(({ status }) => status === 429).toSorted((a, b) => a.sentAt - b.sentAt);
  const [first, last] = [refused[0], refused.at(-1)];
  if (first === undefined || last === undefined) return 0;
  // Includes the requests that may have been admitted just before or after.
  const between = asked.filter(
    ({ status, sentAt, answeredAt }) =>
      status === 200 && answeredAt >= first.sentAt && sentAt <= last.answeredAt,
  );
  return Math.max(0, ratePerMs * (last.sentAt - first.answeredAt)) - between.length;
}
