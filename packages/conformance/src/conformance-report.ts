/** The result of a check. */
export type Verdict =
  | { readonly status: "pass" }
  | {
      readonly status: "fail";
      /** The observed behaviour. */
      readonly seen: string;
      /** The behaviour that the rule requires. */
      readonly expected: string;
    }
  | {
      readonly status: "not applicable";
      readonly reason: string;
      /** Unmet preconditions of the check, by the names that `--require` accepts. Default: none. */
      readonly lacks?: readonly string[] | undefined;
      /** Whether the service's settings exclude every case of the rule, so that no run can check it. Default: false. */
      readonly ruledOut?: true | undefined;
    };

/** The result of a check, with its rule. */
export interface Finding {
  readonly id: string;
  readonly title: string;
  /** The full rule as Markdown. */
  readonly text: string;
  /** The section of the contract. */
  readonly section: string;
  readonly source: "contract" | "house";
  readonly verdict: Verdict;
  readonly durationMs: number;
}

/** Counts of a run's verdicts, and whether the service conforms. */
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly notApplicable: number;
  /** Number of selected rules. */
  readonly total: number;
  /**
   * Names, as in `require`, of missing preconditions: each made a rule not applicable, and no checked rule depends on it.
   */
  readonly notSeen: readonly string[];
  /** Reasons why the run checked less than required; empty if it checked enough. */
  readonly shortfalls: readonly string[];
  /** Whether no rule failed and the run checked enough. */
  readonly conforms: boolean;
  /** One sentence: whether a rule is broken, and how many rules were checked. */
  readonly verdict: string;
}

/** The result of a run. */
export interface ConformanceReport extends Outcome {
  /** The base URL of the service under test. */
  readonly url: string;
  readonly profile: "full" | "reduced";
  /** Whether the run also checked the conventions. */
  readonly house: boolean;
  /** Findings in the order of the contract. */
  readonly findings: readonly Finding[];
  /** The number of routes found in `/openapi.json`. */
  readonly routes: number;
  readonly durationMs: number;
}
