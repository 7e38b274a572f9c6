import type { Check, Finding } from "./check.ts";
import { requirable, seenIn } from "./needs.ts";
import type { Settings } from "./options.ts";

/** Counts of a run's verdicts, and whether the service conforms. */
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly notApplicable: number;
  /** Number of selected rules. */
  readonly total: number;
  /** Names, as in `require`, whose absence made a rule not applicable and on which no checked rule depends. */
  readonly notSeen: readonly string[];
  /** Reasons why the run checked less than required; empty if it checked enough. */
  readonly shortfalls: readonly string[];
  /** Whether no rule failed and the run checked enough. */
  readonly conforms: boolean;
  /** One sentence: whether a rule is broken, and how many rules were checked. */
  readonly verdict: string;
}

/**
 * Returns the outcome of a run.
 * @param rules number of rules that apply to this profile
 * @param routes number of routes in `/openapi.json`
 */
export function outcomeOf(
  { require, maxNotApplicable, house }: Settings,
  findings: readonly Finding[],
  checks: readonly Check[],
  rules: number,
  routes: number,
): Outcome {
  const count = (status: string): number => findings.filter((each) => each.verdict.status === status).length;
  const [passed, failed, notApplicable] = [count("pass"), count("fail"), count("not applicable")];
  const total = findings.length;
  const seen = seenIn(findings, checks, routes);
  const missed = require.filter((name) => !seen.has(name));
  const most = maxNotApplicable ?? Math.floor(total / 2);
  const shortfalls = [
    ...(missed.length > 0 ? [`no rule was checked for these names in --require: ${missed.join(", ")}`] : []),
    ...(notApplicable > most ? [`${notApplicable} rules not applicable, at most ${most} allowed`] : []),
  ];
  const lacking = new Set(
    findings.flatMap(({ verdict }) => ("lacks" in verdict ? (verdict.lacks ?? []) : [])),
  );
  return {
    passed,
    failed,
    notApplicable,
    total,
    notSeen: requirable(checks).filter((name) => lacking.has(name) && !seen.has(name)),
    shortfalls,
    conforms: failed === 0 && shortfalls.length === 0,
    verdict: verdictOf(findings, rules, house),
  };
}

function verdictOf(findings: readonly Finding[], rules: number, house: boolean): string {
  const failed = (source: Finding["source"]): number =>
    findings.filter((each) => each.source === source && each.verdict.status === "fail").length;
  const judged = findings.filter(({ verdict }) => verdict.status !== "not applicable").length;
  const isWhole =
    findings.length === rules &&
    findings.every(({ verdict }) => verdict.status !== "not applicable" || verdict.ruledOut);
  const kept = isWhole
    ? "the service meets the contract"
    : `no rule of the contract is broken, ${judged} of ${rules} rules checked`;
  const contract = failed("contract") === 0 ? kept : "the service breaks the contract";
  return house ? `${contract}; conventions broken: ${failed("house")}` : contract;
}
