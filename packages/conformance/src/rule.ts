import { ruleTexts } from "./rule-texts.ts";

/** A rule of the contract, as far as this kit is concerned with it. */
export interface Rule {
  readonly id: string;
  /** One line. */
  readonly title: string;
  /** The whole rule, as Markdown. */
  readonly text: string;
  /** The section of the contract. */
  readonly section: string;
  /** `contract`: every service owes it. `house`: a choice of this collection, judged only when asked. */
  readonly source: "contract" | "house";
  /** A choice that asks for more than the contract does. */
  readonly stricter: boolean;
  /** `full`: not owed by a service of the reduced profile. */
  readonly profile: "both" | "full";
}

type Marks = "decided" | "stricter" | "full" | "decided full";

/** A section: id and title of its rules, with what differs for one. */
export function section(
  name: string,
  entries: Readonly<Record<string, string | readonly [title: string, marks: Marks]>>,
): readonly Rule[] {
  return Object.entries(entries).map(([id, entry]) => {
    const [title, marks]: readonly [string, string] = typeof entry === "string" ? [entry, ""] : entry;
    return {
      id,
      title,
      text: ruleTexts[id] ?? title,
      section: name,
      source: /decided|stricter/.test(marks) ? "house" : "contract",
      stricter: marks.includes("stricter"),
      profile: marks.includes("full") ? "full" : "both",
    };
  });
}
