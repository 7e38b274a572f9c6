import { isUtf8 } from "node:buffer";
import { ProblemError } from "@svc/problem";
import { type JsonBodyCode, malformed } from "./faults.ts";

/** The fields of a form: a list for a name that occurs several times. */
export type FormFields = Readonly<Record<string, string | readonly string[]>>;

/** The fields of a form, or the problem for the client. */
export type ParsedForm = { readonly fields: FormFields } | { readonly fault: ProblemError };

/**
 * Parses a form's bytes as the URL standard does, but reports what the standard repairs: bytes that are not UTF-8 and
 * invalid percent escapes. Never throws, for any bytes.
 */
export function parseForm(bytes: Buffer, maxFields: number): ParsedForm {
  if (!isUtf8(bytes)) return refused("ERR_SVC_BODY_NOT_UTF8", "the body is not valid UTF-8");
  const text = bytes.toString("utf8");
  const fields = Object.create(null) as Record<string, string | string[]>;
  let count = 0;
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = text.indexOf("&", start);
    if (end === -1) end = text.length;
    if (end === start) continue;
    count += 1;
    if (count > maxFields) return { fault: tooManyFields(maxFields) };
    const field = text.slice(start, end);
    const equals = field.indexOf("=");
    const name = decoded(equals === -1 ? field : field.slice(0, equals));
    const value = decoded(equals === -1 ? "" : field.slice(equals + 1));
    if (name === undefined || value === undefined) {
      return refused(
        "ERR_SVC_BODY_MALFORMED",
        `field ${count} of the form is not validly percent-encoded in UTF-8`,
      );
    }
    // Copying the fields into an ordinary object would set its prototype.
    if (name === "__proto__")
      return refused("ERR_SVC_BODY_FORBIDDEN_KEY", "the form has a field that is not allowed: __proto__");
    add(fields, name, value);
  }
  return { fields };
}

function add(fields: Record<string, string | string[]>, name: string, value: string): void {
  const before = fields[name];
  if (before === undefined) fields[name] = value;
  else if (typeof before === "string") fields[name] = [before, value];
  else before.push(value);
}

function decoded(text: string): string | undefined {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}

function refused(code: JsonBodyCode, detail: string): ParsedForm {
  return { fault: malformed(code, detail) };
}

// The whole form has been read, so the connection can stay open.
function tooManyFields(maxFields: number): ProblemError {
  const code: JsonBodyCode = "ERR_SVC_FORM_TOO_MANY_FIELDS";
  return new ProblemError(413, `the form has more than ${maxFields} fields`, { code });
}
