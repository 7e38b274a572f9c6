import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { bodyOf, readText } from "@svc/json-body";
import { badRequest, unprocessable, unsupportedMediaType } from "@svc/problem";

/** Maximum size of a body in bytes, more than the longest token that a verifier accepts. */
const MAX_BYTES = 16_384;

/**
 * Returns the refresh token of a request: from `req.body` if a parser has set it, else from a JSON body of up to 16 KiB.
 *
 * @throws ProblemError 400, 413, 415 or 422; the message contains no part of the body
 */
export async function refreshTokenOf(req: IncomingMessage): Promise<string> {
  const parsed = bodyOf(req);
  const body = parsed === undefined && !req.readableDidRead ? await readJson(req) : parsed;
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw unprocessable([{ type: "object_type", loc: ["body"], msg: "must be a JSON object" }]);
  }
  const token = Object.hasOwn(body, "refresh_token")
    ? (body as Readonly<Record<string, unknown>>)["refresh_token"]
    : undefined;
  if (typeof token === "string") return token;
  const issue =
    token === undefined
      ? { type: "missing", msg: "is required" }
      : { type: "string_type", msg: "must be a string" };
  throw unprocessable([{ ...issue, loc: ["body", "refresh_token"] }]);
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  const { headers } = req;
  if (!announcesBody(headers)) return undefined;
  // A body that is too long gets a 413 even if its type is also wrong.
  const isTooLong = Number(headers["content-length"] ?? 0) > MAX_BYTES;
  if (!isTooLong) refuseOtherTypes(headers);
  const text = await readText(req, { maxBytes: MAX_BYTES });
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw badRequest("the body is not JSON", { code: "ERR_SVC_BODY_MALFORMED" });
  }
}

function refuseOtherTypes(headers: IncomingHttpHeaders): void {
  if (!isJson(headers["content-type"])) {
    throw unsupportedMediaType("the content type must be application/json", closing);
  }
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding.trim().toLowerCase() !== "identity") {
    throw unsupportedMediaType("the body must not be compressed", closing);
  }
}

function announcesBody(headers: IncomingHttpHeaders): boolean {
  const length = headers["content-length"] ?? "0";
  // An HTTP/2 body may come without Content-Length, but it has a Content-Type.
  return (
    length !== "0" || headers["transfer-encoding"] !== undefined || headers["content-type"] !== undefined
  );
}

const closing = { headers: { Connection: "close" } } as const;

function isJson(contentType = ""): boolean {
  const essence = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return essence === "application/json" || /^[^\s/]+\/[^\s/]+\+json$/.test(essence);
}
