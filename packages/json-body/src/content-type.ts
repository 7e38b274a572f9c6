import type { IncomingMessage } from "node:http";

interface WithStream extends IncomingMessage {
  readonly stream?: { readonly endAfterHeaders?: boolean };
}

/** Returns whether a request's headers announce a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers["content-length"];
  if (length !== undefined) return length !== "0";
  if (req.httpVersionMajor < 2) return req.headers["transfer-encoding"] !== undefined;
  // In HTTP/2 a body needs no header, but a request without a body ends with its headers.
  return (req as WithStream).stream?.endAfterHeaders !== true;
}

/** Returns `type/subtype` in lower case, without parameters; "" if there is no type. */
export function essenceOf(contentType: string | undefined): string {
  if (contentType === undefined) return "";
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** Returns `json` for a JSON body in UTF-8, `charset` for JSON in another charset, `other` for other types. */
export function classify(contentType: string | undefined): "json" | "charset" | "other" {
  // Nearly every client sends this value.
  if (contentType === "application/json") return "json";
  const essence = essenceOf(contentType);
  if (essence !== "application/json" && !isJsonSuffixed(essence)) return "other";
  return isInUtf8(contentType ?? "") ? "json" : "charset";
}

/** Returns `form` for a URL-encoded form in UTF-8, `charset` for a form in another charset, `other` for other types. */
export function classifyForm(contentType: string | undefined): "form" | "charset" | "other" {
  if (contentType === FORM_TYPE) return "form";
  if (essenceOf(contentType) !== FORM_TYPE) return "other";
  return isInUtf8(contentType ?? "") ? "form" : "charset";
}

/** The media type of a URL-encoded form. */
export const FORM_TYPE = "application/x-www-form-urlencoded";

/** Returns whether a content type has no charset, or the charset utf-8. */
export function isInUtf8(contentType: string): boolean {
  const charset = charsetOf(contentType);
  return charset === undefined || charset === "utf-8" || charset === "utf8";
}

function isJsonSuffixed(essence: string): boolean {
  const slash = essence.indexOf("/");
  return slash > 0 && essence.endsWith("+json") && essence.length > slash + 1 + "+json".length;
}

function charsetOf(contentType: string): string | undefined {
  for (const parameter of contentType.split(";").slice(1)) {
    const [name, value] = parameter.split("=", 2);
    if (name?.trim().toLowerCase() !== "charset") continue;
    return (value ?? "").trim().replaceAll('"', "").toLowerCase();
  }
  return undefined;
}
