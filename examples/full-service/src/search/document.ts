import { z } from "zod";
import { category, pageLimit, text } from "../validation.ts";
import { piecesOf } from "./pieces.ts";

const mostCharacters = 20_000;
/**
 * Maximum number of pieces. Each piece is a row with an embedding: ten thousand paragraphs would block an embedded
 * database, and therefore this process, for seconds.
 */
const mostPieces = 200;
export const longestQuery = 500;
const mostMeta = 16;

// PostgreSQL rejects NUL. A text must contain a character other than white space.
const SOME_TEXT = /^(?=[^]*\S)[^\0]*$/;

function textOf(most: number): z.ZodString {
  return text(`a string of 1 to ${most} characters, without NUL`, SOME_TEXT, most);
}

/** A value of the metadata of a document, which filters can use. */
const metaValue = z.union([text("a text", undefined, 200), z.number(), z.boolean()], {
  error: "must be a string of at most 200 characters, a number, true or false",
});

const metaName = text(
  "a name of 1 to 40 lower-case letters, digits or _ that begins with a letter",
  /^[a-z][a-z0-9_]{0,39}$/,
);

const meta = z.record(metaName, metaValue).superRefine((members, context) => {
  if (Object.keys(members).length > mostMeta)
    context.addIssue({ code: "custom", message: `must have at most ${mostMeta} members` });
  const { category: given } = members;
  if (given !== undefined && !category.safeParse(given).success)
    context.addIssue({
      code: "custom",
      message: `must have a category that is one of ${category.options.join(", ")}`,
    });
});

// JSON Schema keywords that zod cannot derive from the checks in `superRefine()`.
const describedMeta = meta.meta({
  maxProperties: mostMeta,
  properties: { category: { type: "string", enum: category.options } },
});

/** The document that a client sends: the text of a receipt, or any other text. */
export const newDocument = z
  .strictObject({
    /** The id of an expense, or an id that the client chooses. */
    id: text(
      "an id of 1 to 100 letters, digits or . _ : -, which begins with a letter or digit",
      /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/,
    ),
    text: textOf(mostCharacters).refine((value) => piecesOf(value).length <= mostPieces, {
      error: `must have at most ${mostPieces} paragraphs`,
    }),
    meta: describedMeta.default({}),
  })
  .meta({ id: "NewDocument" });

export type MetaValue = z.output<typeof metaValue>;

export type NewDocument = z.output<typeof newDocument>;

/** The text of a search. */
export const searchedText: z.ZodString = textOf(longestQuery);

/** A search that a client requests. */
export const searchQuery = z.strictObject({
  q: searchedText,
  limit: pageLimit.default(5),
  category: category.optional(),
});

export type Query = z.output<typeof searchQuery>;
