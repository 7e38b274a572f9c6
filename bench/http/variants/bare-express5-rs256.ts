import { createPublicKey, verify } from "node:crypto";
import { createServer } from "node:http";
import express from "express";
import type { Subject } from "../../harness/subject.ts";
import { mintTokens } from "../access.ts";
import { httpSubject } from "../http-subject.ts";
import { addRoute } from "../route.ts";
import { createIssuer } from "../tokens.ts";

/**
 * Starts Express 5 with its defaults, verifying one RS256 signature of stored bytes per request, without reading a
 * token or a claim. Every server that verifies each token costs more than this.
 */
export async function start(): Promise<Subject> {
  const issuer = createIssuer("RS256");
  const key = createPublicKey(issuer.publicKey ?? "");
  const signed = mintTokens(issuer, 64).map((token) => {
    const end = token.lastIndexOf(".");
    return [Buffer.from(token.slice(0, end)), Buffer.from(token.slice(end + 1), "base64url")] as const;
  });
  let turn = 0;
  const app = express();
  app.use((_req, _res, next) => {
    const [bytes, signature] = signed[turn++ % signed.length] ?? [];
    if (bytes === undefined || !verify("sha256", bytes, key, signature ?? bytes))
      throw new Error("not signed");
    next();
  });
  addRoute(app);
  return httpSubject(createServer(app));
}
