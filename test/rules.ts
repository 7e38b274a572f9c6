/**
 * Reads the rules from docs/contract.md, the only place that states them: id, section, marks in brackets, text, and a
 * comment with owner and title. A test names the rules that it proves in its title. Ids never change, and rules are only
 * added.
 */
import { readFileSync } from "node:fs";

export interface Rule {
  readonly id: string;
  /** Summary in one line. */
  readonly title: string;
  /** The full rule as Markdown: each paragraph on one line, code blocks and tables unchanged. */
  readonly text: string;
  readonly contract: {
    /** The anchor of the second-level heading above the rule. */
    readonly section: string;
    /**
     * `contract`: the service contract states the rule. `decision`: the contract leaves the question open, and this project
     * decided it.
     */
    readonly source: "contract" | "decision";
    /**
     * `stricter`: a decision that deliberately requires more than the contract. `differs`: a decision that departs from its
     * text.
     */
    readonly mark?: "stricter" | "differs" | undefined;
  };
  /** `both`: applies to services of both profiles. `full`: only to the full profile. */
  readonly profile: "both" | "full";
  /** Whether a client can observe the rule over HTTP or in another format (a queue table, a log line, a cookie). */
  readonly outside: boolean;
  readonly status: "done" | "planned";
  /** The folder that owns the rule: one of packages/, or a path from the root of the repository. */
  readonly package: string;
}

export interface ContractDocument {
  readonly rules: readonly Rule[];
  /** Lines that are neither a rule nor marked as informative or left open, and rules without their comment. */
  readonly unclassified: readonly { readonly line: number; readonly text: string }[];
  /** Every rule id in the text, whether or not it is bold. */
  readonly mentioned: ReadonlySet<string>;
}

const RULE = /^- \*\*([A-Z]+-\d+)\*\*(?: \((?:(decision|stricter|differs)(?:, )?)?(full)?\))? (?!\()(.+)$/;
const COMMENT = /^ {2}<!-- ([a-z][a-z/-]*)(, inside)?(, planned)?: (.+) -->$/;
const EXEMPT = /^(?:Informative|Left open)\b/;

/**
 * Parses the contract. Lines before the first second-level heading are the introduction. After it, a bullet begins with
 * the id of a rule, an indented line belongs to the rule above it, and all other lines must be under a heading that
 * begins with "Informative" or "Left open".
 */
export function readContract(document: string): ContractDocument {
  const found: { line: number; match: RegExpExecArray; section: string; lines: string[] }[] = [];
  const unclassified: { line: number; text: string }[] = [];
  let section = "";
  let exempt = true;
  let own: string[] | undefined;
  let fenced = false;

  document.split("\n").forEach((text, index) => {
    if (own !== undefined && (text === "" || text.startsWith("  "))) own.push(text.slice(2));
    if (/^\s*```/.test(text)) {
      if (!fenced && !exempt && !(own !== undefined && text.startsWith("  ")))
        unclassified.push({ line: index + 1, text });
      fenced = !fenced;
      return;
    }
    if (fenced || text.trim() === "") return;
    const heading = /^(#{1,6}) (.+)$/.exec(text);
    if (heading?.[1] !== undefined && heading[2] !== undefined) {
      if (heading[1].length === 2) section = anchorOf(heading[2]);
      exempt = heading[1].length === 1 || EXEMPT.test(heading[2]);
      own = undefined;
      return;
    }
    const match = RULE.exec(text);
    if (match?.[4] !== undefined && section !== "") {
      own = [match[4]];
      found.push({ line: index + 1, match, section, lines: own });
      if (exempt) unclassified.push({ line: index + 1, text });
      return;
    }
    if (exempt || (own !== undefined && text.startsWith("  "))) return;
    own = undefined;
    unclassified.push({ line: index + 1, text });
  });

  const rules = found.flatMap(({ line, match, section, lines }): readonly Rule[] => {
    const [text, id = "", mark, full] = match;
    const comments = lines.flatMap((each) => COMMENT.exec(`  ${each}`) ?? []);
    const [, owner, inside, planned, title] = comments;
    if (owner === undefined || title === undefined || comments.length > 5) {
      unclassified.push({ line, text });
      return [];
    }
    return [
      {
        id,
        title,
        text: joined(lines.filter((each) => !COMMENT.test(`  ${each}`))),
        contract: {
          section,
          source: mark === undefined ? "contract" : "decision",
          mark: mark === "stricter" || mark === "differs" ? mark : undefined,
        },
        profile: full === undefined ? "both" : "full",
        outside: inside === undefined,
        status: planned === undefined ? "done" : "planned",
        package: owner,
      },
    ];
  });
  const prefixes = [...new Set(found.map(({ match }) => match[1]?.split("-", 1)[0]))];
  const named = new RegExp(`\\b(?:${prefixes.join("|")})-\\d+\\b`, "g");
  const mentioned = new Set(prefixes.length === 0 ? [] : [...document.matchAll(named)].map(([id]) => id));
  return { rules, unclassified, mentioned };
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} -]/gu, "")
    .replaceAll(" ", "-");
}

/** Joins the lines of each paragraph. */
function joined(lines: readonly string[]): string {
  let isCode = false;
  const text = lines.reduce((before, line) => {
    const isFence = line.trimStart().startsWith("```");
    const isBlock = isCode || isFence || line === "" || /^\s*(?:[|]|[-*] |\d+\. )/.test(line);
    if (isFence) isCode = !isCode;
    return isBlock || before.endsWith("\n") || /(?:\n|^)\s*(?:[|]|```)[^\n]*$/.test(before)
      ? `${before}\n${line}`
      : `${before} ${line.trim()}`;
  });
  return text.replaceAll(/\n{3,}/g, "\n\n").trim();
}

export const contract: ContractDocument = readContract(
  readFileSync(new URL("../docs/contract.md", import.meta.url), "utf8"),
);
export const rules: readonly Rule[] = contract.rules;
