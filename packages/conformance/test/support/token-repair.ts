import { createHmac, createPrivateKey, createPublicKey, sign, verify, constants } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { privatePem, publicPem, secret } from "./bases.ts";

/** The decoded parts of a token that was not verified. */
export interface OpenToken {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
  readonly raw: string;
}

const privateKey = createPrivateKey(privatePem);
const publicKey = createPublicKey(publicPem);

export function openToken(raw: string): OpenToken | undefined {
  try {
    const [header = "", claims = ""] = raw
      .split(".")
      .map((part) => Buffer.from(part, "base64url").toString("utf8"));
    const parsed = [header, claims].map(
      (text) => JSON.parse(text.replace(/^\uFEFF/, "")) as Record<string, unknown>,
    );
    return { header: parsed[0] ?? {}, claims: parsed[1] ?? {}, raw };
  } catch {
    return undefined;
  }
}

export function bearerOf(req: IncomingMessage): string | undefined {
  return /^Bearer (.+)$/.exec(req.headers.authorization ?? "")?.[1];
}

export function setBearer(req: IncomingMessage, token: string | undefined): void {
  if (token === undefined) delete req.headers.authorization;
  else req.headers.authorization = `Bearer ${token}`;
}

/** Signs a token that the service should reject, so that the sound service behind the layer accepts it. */
export function signToken({ header, claims }: Pick<OpenToken, "header" | "claims">): string {
  const input = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const bytes = Buffer.from(input);
  const signature =
    header["alg"] === "HS256"
      ? createHmac("sha256", secret).update(bytes).digest()
      : sign("sha256", bytes, privateKey);
  return `${input}.${signature.toString("base64url")}`;
}

/** Whether the base's key has signed a token; ignores the token's header. */
export function isSigned(raw: string): boolean {
  const end = raw.lastIndexOf(".");
  const bytes = Buffer.from(raw.slice(0, end));
  const given = Buffer.from(raw.slice(end + 1), "base64url");
  // An HMAC is much cheaper than an RSA signature, so compare it first.
  return (
    createHmac("sha256", secret).update(bytes).digest().equals(given) ||
    verify("sha256", bytes, publicKey, given) ||
    verify(
      "sha256",
      bytes,
      {
        key: publicKey,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_AUTO,
      },
      given,
    )
  );
}

/**
 * Makes a service ignore a defect: replaces a correctly signed token that has the defect with a sound token.
 *
 * @param heal repairs the token and returns whether it had the defect
 */
export function overlooking(
  heal: (token: OpenToken) => boolean,
  { signed = true } = {},
): (req: IncomingMessage) => void {
  return (req) => {
    const raw = bearerOf(req);
    const token = raw === undefined ? undefined : openToken(raw);
    if (token === undefined || raw === undefined) return;
    if (signed && !isSigned(raw)) return;
    if (!heal(token)) return;
    if (token.header["alg"] !== "HS256") token.header["alg"] = "RS256";
    setBearer(req, signToken(token));
  };
}
