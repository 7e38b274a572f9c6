import { readFileSync } from "node:fs";

/** A rule of the contract, with the details that the kit uses. */
export interface Rule {
  readonly id: string;
  /** The rule in one line. */
  readonly title: string;
  /** The full rule as Markdown. */
  readonly text: string;
  /** The section of the contract. */
  readonly section: string;
  /** `contract`: required of every service. `house`: a convention of this project, checked only on request. */
  readonly source: "contract" | "house";
  /** Whether a convention requires more than the contract. */
  readonly stricter: boolean;
  /** `full`: not required of services with the reduced profile. */
  readonly profile: "both" | "full";
}

/** The rules that the kit knows, in the order of the contract. */
export const rules: readonly Rule[] = JSON.parse(
  readFileSync(new URL("../rules.json", import.meta.url), "utf8"),
) as readonly Rule[];

const byId: ReadonlyMap<string, Rule> = new Map(rules.map((rule) => [rule.id, rule]));

/** Returns the rule with this id. */
export function ruleOf(id: string): Rule {
  const rule = byId.get(id);
  if (rule === undefined) throw new RangeError(`there is no rule ${id}`);
  return rule;
}

export function isRule(id: string): boolean {
  return byId.has(id);
}
