/** How a statement ends a transaction. */
export interface Ending {
  readonly isCommit: boolean;
  /** Whether the statement begins another transaction. */
  readonly isChain: boolean;
}

const COMMENT = String.raw`--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/`;
const CONTROL = new RegExp(
  String.raw`^(?:[\s;]|${COMMENT})*(?:begin|start|commit|end|rollback|abort)\b`,
  "i",
);
const COMMENTS = new RegExp(COMMENT, "g");
const BEGIN = /^[\s;]*(?:begin|start\s+transaction)\b(?:\s+(?:transaction|work)\b)?([^;]*)[\s;]*$/i;
const END =
  /^[\s;]*(?:(commit|end)|rollback|abort)\b(?:\s+(?:transaction|work)\b)?(?:\s+and\s+(?:no\s+)?chain\b)?[\s;]*$/i;
const CHAIN = /\band\s+chain\b/i;

/** Returns the options of a statement that begins a transaction, and undefined for any other statement. */
export function modeOfBegin(statement: unknown): string | undefined {
  return BEGIN.exec(controlIn(statement))?.[1];
}

/** Returns how a statement ends a transaction, and undefined for a statement that does not end one. */
export function ending(statement: unknown): Ending | undefined {
  const text = controlIn(statement);
  const found = END.exec(text);
  return found === null ? undefined : { isCommit: found[1] !== undefined, isChain: CHAIN.test(text) };
}

/** Returns whether a statement begins or ends a transaction. */
export function isTransactionControl(statement: unknown): boolean {
  return modeOfBegin(statement) !== undefined || ending(statement) !== undefined;
}

/** Returns a statement without its comments if its first word can begin or end a transaction, and an empty text otherwise. */
function controlIn(statement: unknown): string {
  const text = textOf(statement);
  return CONTROL.test(text) ? text.replace(COMMENTS, " ") : "";
}

function textOf(statement: unknown): string {
  if (typeof statement === "string") return statement;
  const { text } = Object(statement) as { readonly text?: unknown };
  return typeof text === "string" ? text : "";
}
