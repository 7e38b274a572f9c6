import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { listen, signToken } from "@svc/test-support";

export type Answer = (req: IncomingMessage, res: ServerResponse) => void;

/** A provider that signs any token and sends any response. */
export interface HostileProvider extends AsyncDisposable {
  readonly url: string;
  readonly options: {
    readonly clientId: string;
    readonly clientSecret: string;
    readonly issuer: string;
    readonly jwksUri: string;
    readonly authorizationEndpoint: string;
    readonly tokenEndpoint: string;
  };
  /** The bodies that the token endpoint received. */
  readonly exchanges: URLSearchParams[];
  /** Paths of all requests, in order. */
  readonly requests: string[];
  /** Makes the token endpoint return an ID token with these claims. */
  issue(claims: Readonly<Record<string, unknown>>, how?: Signing): void;
  /** Makes the token endpoint return this response. */
  answer(status: number, body: unknown): void;
  /** Makes `by` respond to requests to the token endpoint. */
  answerBy(by: Answer): void;
  /** Makes `by` respond to requests for the keys. */
  keysBy(by: Answer): void;
}

export interface Signing {
  readonly key?: KeyObject | string;
  readonly header?: Readonly<Record<string, unknown>>;
  /** Changes the signed token. */
  readonly forge?: (token: string) => string;
}

export const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
export const foreign = generateKeyPairSync("rsa", { modulusLength: 2048 });
export const CLIENT = "client-1";

export function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export async function hostileProvider(): Promise<HostileProvider> {
  const exchanges: URLSearchParams[] = [];
  const requests: string[] = [];
  const jwk = { ...own.publicKey.export({ format: "jwk" }), kid: "k1", alg: "RS256", use: "sig" };
  let token: Answer = (_req, res) => sendJson(res, 500, {});
  let keys: Answer = (_req, res) => sendJson(res, 200, { keys: [jwk] });
  const server = await listen((req, res) => {
    requests.push(req.url ?? "");
    if (req.url === "/keys") return keys(req, res);
    if (req.url !== "/token") return token(req, res);
    let body = "";
    req.on("data", (chunk: Buffer) => (body += chunk.toString()));
    req.on("end", () => {
      exchanges.push(new URLSearchParams(body));
      token(req, res);
    });
  });
  const { url } = server;
  const answer = (status: number, body: unknown): void => {
    token = (_req, res) => sendJson(res, status, body);
  };
  return {
    url,
    options: {
      clientId: CLIENT,
      clientSecret: "secret-of-the-client",
      issuer: url,
      jwksUri: `${url}/keys`,
      authorizationEndpoint: `${url}/authorize`,
      tokenEndpoint: `${url}/token`,
    },
    exchanges,
    requests,
    issue(claims, { key = own.privateKey, header = {}, forge = (each: string) => each } = {}) {
      const signed = signToken({ iss: url, aud: CLIENT, sub: "ada", ...claims }, key, {
        kid: "k1",
        ...header,
      });
      answer(200, { access_token: "at-1", token_type: "Bearer", id_token: forge(signed) });
    },
    answer,
    answerBy: (by) => {
      token = by;
    },
    keysBy: (by) => {
      keys = by;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
