/** The statements of docs/contract.md, found by its format. */

export interface Statement {
  readonly id: string;
  /** Anchor of the second-level heading that contains it. */
  readonly section: string;
  /** The words in parentheses after the id: decision, stricter, differs, full. */
  readonly marks: readonly string[];
  readonly line: number;
}

export interface ContractDocument {
  readonly statements: readonly Statement[];
  /** Lines that are neither a rule nor marked as informative or left open. */
  readonly unclassified: readonly { readonly line: number; readonly text: string }[];
  /** Every id in the text, in bold or not. */
  readonly mentioned: ReadonlySet<string>;
}

const STATEMENT =
  /^(?:- |\| )\*\*([A-Z]+-\d+)\*\*(?: \(((?:decision|stricter|differs|full)(?:, full)?)\))?(?= )/;
const EXEMPT = /^(?:Informative|Left open)\b/;

/**
 * Lines before the first second-level heading are the introduction. After it, a bullet or a table row begins with the id of
 * a rule, an indented line belongs to the rule above it, and all other lines must be under a heading that begins with
 * "Informative" or "Left open".
 */
export function readContract(text: string): ContractDocument {
  const statements: Statement[] = [];
  const unclassified: { line: number; text: string }[] = [];
  let section = "";
  let exempt = true;
  let owned = false;
  let fenced = false;

  text.split("\n").forEach((text, index) => {
    if (/^\s*```/.test(text)) {
      if (!fenced && !exempt && !(owned && text.startsWith("  ")))
        unclassified.push({ line: index + 1, text });
      fenced = !fenced;
      return;
    }
    if (fenced || text.trim() === "") return;
    const heading = /^(#{1,6}) (.+)$/.exec(text);
    if (heading?.[1] !== undefined && heading[2] !== undefined) {
      if (heading[1].length === 2) section = anchorOf(heading[2]);
      exempt = heading[1].length === 1 || EXEMPT.test(heading[2]);
      owned = false;
      return;
    }
    const statement = STATEMENT.exec(text);
    if (statement?.[1] !== undefined && section !== "") {
      const marks = statement[2]?.split(", ") ?? [];
      statements.push({ id: statement[1], section, marks, line: index + 1 });
      owned = true;
      if (exempt) unclassified.push({ line: index + 1, text });
      return;
    }
    if (exempt || (owned && text.startsWith("  "))) return;
    owned = false;
    unclassified.push({ line: index + 1, text });
  });

  const prefixes = [...new Set(statements.map(({ id }) => id.slice(0, id.indexOf("-"))))];
  const named = new RegExp(`\\b(?:${prefixes.join("|")})-\\d+\\b`, "g");
  const mentioned = new Set(prefixes.length === 0 ? [] : [...text.matchAll(named)].map(([id]) => id));
  return { statements, unclassified, mentioned };
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} -]/gu, "")
    .replaceAll(" ", "-");
}
