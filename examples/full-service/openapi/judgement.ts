import type { Exchange } from "./recorded-files.ts";
import type { Judge, Violation } from "./replay.ts";

/** Routes that tests add to the example: those of its test mode, and one of a test of sign-in. They are not described. */
const ADDED_BY_TESTS = /^\/(?:said$|test\/|test-tenant$|t\/[^/]+\/test-tenant$)/;

/** Counts that do not belong to one exchange. */
export interface ReportOptions {
  readonly documents: number;
  /** Exchanges of servers that are not the example. */
  readonly skipped: number;
}

/** What Prism found in all exchanges. */
export interface Judgement {
  readonly add: Judge;
  /** Whether there were exchanges, and no violation. */
  isClean(): boolean;
  report(options: ReportOptions): string;
}

export function createJudgement(): Judgement {
  const counts = { judged: 0, refused: 0, unread: 0, unknown: 0, ofTests: 0 };
  /** The violations, with the number of exchanges that have each. */
  const found = new Map<string, number>();

  function violated({ method, target, status }: Exchange, text: string): void {
    const [path = ""] = target.split("?");
    const key = `${method} ${path.replaceAll(/[0-9a-f]{32}/g, "ID")} ${status} ${text}`;
    found.set(key, (found.get(key) ?? 0) + 1);
  }

  function add(exchange: Exchange, violations: readonly Violation[], wasBodyRead: boolean): void {
    const { method, target, status } = exchange;
    if (ADDED_BY_TESTS.test(target)) {
      counts.ofTests++;
      return;
    }
    counts.judged++;
    if (!wasBodyRead) counts.unread++;
    if (violations.some(({ message }) => message === "Selected route not found")) {
      counts.unknown++;
      // A method or a path that the document does not have must be refused; it leaves out HEAD and OPTIONS.
      if (status < 400 && method !== "HEAD" && method !== "OPTIONS")
        violated(exchange, "is not in the document");
      return;
    }
    const [ofRequest = [], ofResponse = []] = [true, false].map((isOfRequest) =>
      violations.filter(({ location }) => (location[0] === "request") === isOfRequest),
    );
    if (ofRequest.length > 0) counts.refused++;
    for (const { location, message } of ofResponse) violated(exchange, `${location.join(".")} ${message}`);
    // A request that the document does not allow must be refused.
    for (const { location, message } of status < 300 ? ofRequest : [])
      violated(exchange, `was accepted, but ${location.join(".")} ${message}`);
  }

  return {
    add,
    isClean: () => counts.judged > 0 && found.size === 0,
    report({ documents, skipped }) {
      const all = [...found.values()].reduce((sum, each) => sum + each, 0);
      return [
        ...[...found.keys()].toSorted().map((text) => `${found.get(text)} x ${text}`),
        `${counts.judged} requests through Prism with ${documents} documents: ${all} violations`,
        `  ${counts.refused} requests that the document does not allow, all refused unless listed above`,
        `  ${counts.unknown} requests of HEAD, OPTIONS, other methods or unknown paths`,
        `  ${counts.unread} requests whose body Prism could not read; only their responses were judged`,
        `  ${counts.ofTests} requests to routes that tests add to the example, not judged`,
        `  ${skipped} requests to other servers of the tests, not judged`,
        "",
      ].join("\n");
    },
  };
}
