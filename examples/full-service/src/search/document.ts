import { bodyFields, Fields, matching, type Reading } from "../fields.ts";
import { type Category } from "../expense.ts";
import { knownCategory, pageLimit } from "../validation.ts";
import { piecesOf } from "./pieces.ts";

/** A value of the metadata of a document, which filters can use. */
export type MetaValue = string | number | boolean;

/** The document that a client sends: the text of a receipt, or any other text. */
export interface NewDocument {
  /** The id of an expense, or an id that the client chooses. */
  readonly id: string;
  readonly text: string;
  readonly meta: Readonly<Record<string, MetaValue>>;
}

/** A search that a client requests. */
export interface Query {
  readonly q: string;
  readonly limit: number;
  readonly category: Category | undefined;
}

const bodyMembers = ["id", "text", "meta"];
const filters = ["q", "limit", "category"];
const mostCharacters = 20_000;
/**
 * The maximum number of pieces. Each is a row with an embedding: ten thousand paragraphs would block an embedded
 * database, and so this process, for seconds.
 */
const mostPieces = 200;
export const longestQuery = 500;
const mostMeta = 16;

/** Returns the document of a request body. @throws ProblemError 422 that lists all faults */
export function newDocument(body: unknown): NewDocument {
  const fields = bodyFields(body, bodyMembers);
  const id = fields.required("id", documentId);
  const text = fields.required("text", documentText);
  const meta = fields.optional("meta", documentMeta) ?? {};
  if (text !== undefined && piecesOf(text).length > mostPieces) {
    fields.refuse("text", `must have at most ${mostPieces} paragraphs`);
  }
  if (meta["category"] !== undefined && knownCategory.read(meta["category"]) === undefined) {
    fields.refuse("meta", `must have a category that is ${knownCategory.expects}, or none`);
  }
  fields.throwIssues();
  return { id, text, meta } as NewDocument;
}

/** Returns the search of a query string. @throws ProblemError 422 that lists all faults */
export function searchQuery(query: URLSearchParams): Query {
  const fields = new Fields("query", [...query], filters);
  const q = fields.required("q", searchedText);
  const limit = fields.optional("limit", pageLimit) ?? 5;
  const category = fields.optional("category", knownCategory);
  fields.throwIssues();
  return { q: q ?? "", limit, category };
}

const documentId = matching(
  /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/,
  "an id of 1 to 100 letters, digits or . _ : -, which begins with a letter or digit",
);

function textOf(most: number): Reading<string> {
  return {
    expects: `a string of 1 to ${most} characters, without NUL`,
    read: (value) =>
      typeof value === "string" && value.trim() !== "" && value.length <= most && isKept(value)
        ? value
        : undefined,
  };
}

const documentText = textOf(mostCharacters);

/** Reads the text of a search. */
export const searchedText: Reading<string> = textOf(longestQuery);

const documentMeta: Reading<Readonly<Record<string, MetaValue>>> = {
  expects: `an object of at most ${mostMeta} members; names are 1 to 40 lower-case letters, digits or _ and begin with a letter, values are strings of at most 200 characters, numbers, true or false`,
  read(value) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const entries = Object.entries(value);
    const isRight = entries.every(([name, each]) => /^[a-z][a-z0-9_]{0,39}$/.test(name) && isMetaValue(each));
    return isRight && entries.length <= mostMeta ? Object.fromEntries(entries) : undefined;
  },
};

function isMetaValue(value: unknown): value is MetaValue {
  if (typeof value === "string") return value.length <= 200 && isKept(value);
  return typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}

// PostgreSQL rejects NUL, and half a surrogate pair is not a character.
function isKept(text: string): boolean {
  return !/\0|\p{Surrogate}/u.test(text);
}
