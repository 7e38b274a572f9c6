import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { badRequest, payloadTooLarge, ProblemError, unprocessable, unsupportedMediaType } from "@svc/problem";

interface WithBody extends IncomingMessage {
  readonly body?: unknown;
}

/** No token that could be verified needs more. */
const MAX_BYTES = 16_384;

/**
 * The refresh token that a request brings: from `req.body` where something has parsed it, else from a small JSON body
 * that is read here.
 *
 * @throws ProblemError 400, 413, 415 or 422, never with a part of the body
 */
export async function refreshTokenOf(req: WithBody): Promise<string> {
  const body = req.body === undefined && !req.readableDidRead ? await readJson(req) : req.body;
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
  if (Number(headers["content-length"] ?? 0) > MAX_BYTES) throw tooLarge();
  if (!isJson(headers["content-type"])) {
    throw unsupportedMediaType("the content type must be application/json", closing);
  }
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding.trim().toLowerCase() !== "identity") {
    throw unsupportedMediaType("the body must not be compressed", closing);
  }
  const text = await readText(req);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw badRequest("the body is not JSON", { code: "ERR_SVC_BODY_MALFORMED" });
  }
}

function announcesBody(headers: IncomingHttpHeaders): boolean {
  const length = headers["content-length"] ?? "0";
  // HTTP/2 needs no header for a body, but has one for its type.
  return (
    length !== "0" || headers["transfer-encoding"] !== undefined || headers["content-type"] !== undefined
  );
}

const closing = { headers: { Connection: "close" } } as const;

function tooLarge(): ProblemError {
  return payloadTooLarge(`the body is larger than ${MAX_BYTES} bytes`, {
    code: "ERR_SVC_BODY_TOO_LARGE",
    ...closing,
  });
}

function isJson(contentType = ""): boolean {
  const essence = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return essence === "application/json" || /^[^\s/]+\/[^\s/]+\+json$/.test(essence);
}

/** Listens instead of iterating: leaving a loop over a request early destroys it, and nobody gets the answer. */
function readText(req: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (fault?: ProblemError): void => {
      req.off("data", onData);
      req.off("end", onEnd);
      req.off("error", onBroken);
      req.off("close", onBroken);
      if (fault === undefined) resolve(Buffer.concat(chunks).toString("utf8"));
      else reject(fault);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > MAX_BYTES) finish(tooLarge());
    };
    const onEnd = (): void => finish();
    const onBroken = (): void => {
      finish(
        badRequest("the request ended before its body was complete", { code: "ERR_SVC_BODY_INCOMPLETE" }),
      );
    };
    if (req.destroyed) {
      onBroken();
      return;
    }
    req.on("data", onData);
    req.on("end", onEnd);
    req.on("error", onBroken);
    req.on("close", onBroken);
  });
}
