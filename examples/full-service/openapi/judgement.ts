import type { Exchange } from "./recorded-files.ts";
import type { Judge, Violation } from "./replay.ts";

/** Routes without a description that tests add to the example: those of its test mode, and one of a test of sign-in. */
const ADDED_BY_TESTS = /^\/(?:said$|test\/|test-tenant$|t\/[^/]+\/test-tenant$)/;

/** Counts of all exchanges. */
export interface ReportOptions {
  readonly documents: number;
  /** Exchanges of servers other than the example. */
  readonly skipped: number;
}

/** The findings of Prism in all exchanges. */
export interface Judgement {
  readonly add: Judge;
  /** True if there were exchanges and no violations. */
  isClean(): boolean;
  report(options: ReportOptions): string;
}

export function createJudgement(): Judgement {
  const counts = { judged: 0, refused: 0, unread: 0, unknown: 0, ofTests: 0 };
  /** The violations, each with its number of exchanges. */
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
      // The service must refuse a method or a path that the document does not have. The document omits HEAD and OPTIONS.
      if (status < 400 && method !== "HEAD" && method !== "OPTIONS")
        violated(exchange, "is not in the document");
      return;
    }
    const [ofRequest = [], ofResponse = []] = [true, false].map((isOfRequest) =>
      violations.filter(({ location }) => (location[0] === "request") === isOfRequest),
    );
    if (ofRequest.length > 0) counts.refused++;
    for (const { location, message } of ofResponse) violated(exchange, `${location.join(".")} ${message}`);
    // The service must refuse a request that the document does not allow.
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
