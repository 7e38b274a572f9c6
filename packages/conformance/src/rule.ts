import { ruleTexts } from "./rule-texts.ts";

/** A rule of the contract, with the details that this kit uses. */
export interface Rule {
  readonly id: string;
  /** One line. */
  readonly title: string;
  /** The full rule as Markdown. */
  readonly text: string;
  /** The section of the contract. */
  readonly section: string;
  /** `contract`: required of every service. `house`: a convention of this collection, judged only on request. */
  readonly source: "contract" | "house";
  /** Whether the convention requires more than the contract. */
  readonly stricter: boolean;
  /** `full`: not required of a service of the reduced profile. */
  readonly profile: "both" | "full";
}

type Marks = "decided" | "stricter" | "full" | "decided full";

/** Builds the rules of a section from id and title, with the details of single rules. */
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
