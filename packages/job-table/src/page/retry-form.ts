import type { IncomingMessage } from "node:http";
import { bodyOf, readText } from "@svc/json-body";
import { badRequest, type ProblemError, unsupportedMediaType } from "@svc/problem";

/** Maximum size of a form in bytes: it fits an id of 255 characters, each encoded in up to twelve bytes. */
const MAX_BYTES = 16_384;
const MAX_IDS = 1000;

/**
 * Reads which dead jobs a form selects: `all`, or one or more `id` fields; `encoded` is a percent-encoded id. Uses
 * `req.body` if a parser has set it, and reads the request otherwise.
 *
 * @throws ProblemError 400, 413 or 415
 */
export async function retryFormOf(req: IncomingMessage): Promise<readonly string[] | "all"> {
  const type = req.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") {
    throw unsupportedMediaType("the content type must be application/x-www-form-urlencoded", {
      headers: { Connection: "close" },
    });
  }
  const body = bodyOf(req);
  const fields = isParsed(req, body) ? fieldsOf(body) : fieldsOfText(await textOf(req, body));
  const ids = [...fields("id"), ...fields("encoded").map(decoded)];
  const all = fields("all").length > 0;
  if (all && ids.length === 0) return "all";
  if (all || ids.length === 0 || ids.length > MAX_IDS || ids.some((id) => id.includes("\0"))) {
    throw malformed();
  }
  return ids;
}

function malformed(): ProblemError {
  return badRequest("the form must have either id or all", { code: "ERR_SVC_BODY_MALFORMED" });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed();
  }
}

type Fields = (name: string) => readonly string[];

// express.text() and express.raw() provide the body as a string or bytes.
async function textOf(req: IncomingMessage, body: unknown): Promise<string> {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString("utf8");
  return readText(req, { maxBytes: MAX_BYTES });
}

// Body parsers for Express 4 set an empty object even if they did not read the body.
function isParsed(req: IncomingMessage, body: unknown): body is Readonly<Record<string, unknown>> {
  if (typeof body !== "object" || body === null || body instanceof Uint8Array) return false;
  return req.readableDidRead || Object.keys(body).length > 0;
}

function fieldsOf(body: Readonly<Record<string, unknown>>): Fields {
  return (name) => {
    if (!Object.hasOwn(body, name)) return [];
    const value = body[name];
    return (Array.isArray(value) ? (value as unknown[]) : [value]).filter((each) => typeof each === "string");
  };
}

function fieldsOfText(text: string): Fields {
  const parameters = new URLSearchParams(text);
  return (name) => parameters.getAll(name);
}
