import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createDatabase } from "@svc/database";
import { listen, signToken, type RunningSample } from "@svc/test-support";
import { realProvider } from "@svc/test-support/openid";
import { openOtlpReceiver } from "@svc/test-support/otlp";
import {
  createKeyRing,
  createTokenIssuer,
  generateKey,
  newRing,
  type TokenPair,
  writeRing,
} from "@svc/token-issuer";
import { createMemoryTokenStore } from "@svc/token-store";

/** The files, servers and replacements that a sample needs. */
export interface Surroundings extends AsyncDisposable {
  readonly env?: Readonly<Record<string, string>>;
  /** Replacements for strings of the sample. */
  readonly replace?: Readonly<Record<string, string>>;
  /** Files to write into the sample's working directory. */
  readonly files?: Readonly<Record<string, string>>;
  /** Returns how often the sample has fetched the key set. */
  readonly fetches?: () => number;
  /** The issuer that replaces the one in the sample. */
  readonly issuer?: string;
  /** Returns the names of the spans that the sample has exported. */
  readonly spans?: () => readonly string[];
  /** The paths of the requests that the test server received. */
  readonly asked?: readonly string[];
}

/** The inputs of a function that creates surroundings. */
export interface Given {
  readonly code: string;
  /** Returns the URL of a test database; only for samples with `database`. */
  readonly databaseUrl: () => string;
  /** Returns the URL of a test Redis; only for samples with `redis`. */
  readonly redisUrl: () => string;
}

/** The expected behaviour of one sample of a document. */
export interface Expectation {
  readonly shows: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the sample needs a database. */
  readonly database?: boolean;
  /** Whether the sample needs a Redis. */
  readonly redis?: boolean;
  readonly around?: (this: void, given: Given) => Promise<Surroundings>;
  readonly check: (this: void, sample: RunningSample, around?: Surroundings) => Promise<void>;
}

export const sharedSecret = "a secret of the tests, longer than 32 bytes";

let pair: { readonly privateKey: KeyObject; readonly publicKey: KeyObject } | undefined;

function issuerKeys(): NonNullable<typeof pair> {
  pair ??= generateKeyPairSync("rsa", { modulusLength: 2048 });
  return pair;
}

/** Signs a token as the issuer of the samples would. */
export function issuerToken(claims: Readonly<Record<string, unknown>> = {}): string {
  const always = { sub: "ada", iss: "https://issuer.example", aud: "orders" };
  return signToken({ ...always, ...claims }, issuerKeys().privateKey, { kid: "k" });
}

function keySet(): { readonly keys: readonly object[] } {
  const key = issuerKeys().publicKey.export({ format: "jwk" });
  return { keys: [{ ...key, kid: "k", alg: "RS256", use: "sig" }] };
}

/** Starts a local issuer with a discovery document. It replaces the issuer in the sample. */
export async function discoveredIssuer(): Promise<Surroundings> {
  const server = await listen(({ url = "" }, res) => {
    const found = { issuer: server.url, jwks_uri: `${server.url}/keys` };
    const document = url === "/keys" ? keySet() : found;
    res.setHeader("Content-Type", "application/json").end(JSON.stringify(document));
  });
  return {
    // The default environment, prod, rejects plain http.
    replace: { 'issuer: "https://issuer.example",': `issuer: "${server.url}", env: "local",` },
    issuer: server.url,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Starts a local issuer. Its key set replaces the one whose URL the sample contains. */
export async function issuer({ code }: Given): Promise<Surroundings> {
  let fetches = 0;
  const server = await listen((_req, res) => {
    fetches += 1;
    res.setHeader("Content-Type", "application/json").end(JSON.stringify(keySet()));
  });
  const [shown = "", option = ""] =
    /\b(jwksUrl|jwksUri|url): "https:\/\/issuer\.example\/jwks\.json"/.exec(code) ?? [];
  // The default environment, prod, rejects plain http.
  const env = option === "jwksUri" ? "" : ', env: "local"';
  return {
    replace: { [shown]: `${option}: "${server.url}/jwks.json"${env}` },
    fetches: () => fetches,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Starts a collector of spans, which replaces the one whose URL the sample contains. */
export async function collector(): Promise<Surroundings> {
  const receiver = await openOtlpReceiver();
  return {
    replace: { "http://127.0.0.1:4318": new URL(receiver.url).origin },
    spans: () => receiver.spans.map(({ name }) => name),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

/** Provides the issuer's public key as a file for the sample. */
export async function issuerFile(): Promise<Surroundings> {
  const pem = issuerKeys().publicKey.export({ format: "pem", type: "spki" }).toString();
  return { files: { "issuer.pem": pem }, async [Symbol.asyncDispose]() {} };
}

/** Creates a file of signing keys that only this user may read, and passes it and the URL of a Redis to the sample. */
export async function keysAndRedis({ redisUrl }: Given): Promise<Surroundings> {
  const folder = await mkdtemp(join(tmpdir(), "svc-docs-"));
  const file = join(folder, "keys.json");
  const ring = newRing(await generateKey({ algorithm: "ES256" }), Date.now());
  await writeFile(file, writeRing(ring), { mode: 0o600 });
  return {
    env: { SIGNING_KEYS: file, REDIS_URL: redisUrl() },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** Starts a real identity provider, which replaces the one in the sample; it redirects back to `orders.example`. */
export async function signInProvider({ code }: Given): Promise<Surroundings> {
  const provider = await realProvider();
  const [callback = ""] = /https:\/\/orders\.example\/\w+\/\w+\/callback/.exec(code) ?? [];
  provider.accept(callback);
  const { issuer: iss, jwksUri, authorizationEndpoint, tokenEndpoint } = provider.options;
  const places = { clientId: "client-1", issuer: iss, jwksUri, authorizationEndpoint, tokenEndpoint };
  const google = 'clientId: "123.apps.googleusercontent.com",';
  const clientSecret = "secret-of-the-client";
  return {
    env: {
      ACME_SECRET: clientSecret,
      GOOGLE_SECRET: clientSecret,
      COOKIE_SECRET: sharedSecret,
      TOKEN_SECRET: sharedSecret,
    },
    replace: code.includes(google)
      ? { [google]: `...${JSON.stringify(places)},` }
      : { "https://id.acme.example": provider.url },
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}

/**
 * Starts an issuer and an API for the client sample. The API accepts only access tokens from a refresh, and refuses
 * these too after a request for `/last`. Adds the browser features that Node lacks to the sample, and calls that print
 * their results.
 */
export async function browserAndIssuer(): Promise<Surroundings> {
  const keys = createKeyRing({ secret: sharedSecret, env: "local" });
  const store = createMemoryTokenStore();
  const issuer = createTokenIssuer({ keys, store, env: "local" });
  const asked: string[] = [];
  const good = new Set<string>();
  const server = await listen((req, res) => {
    const path = req.url ?? "";
    asked.push(path);
    if (path === "/auth/refresh") {
      void refreshed(req).then(
        (pair) => {
          good.add(`Bearer ${pair.access_token}`);
          res.setHeader("Content-Type", "application/json").end(JSON.stringify(pair));
        },
        () => res.writeHead(401).end(),
      );
    } else {
      res.writeHead(good.has(req.headers.authorization ?? "") ? 200 : 401).end();
      if (path === "/last") good.clear();
    }
  });
  async function refreshed(req: IncomingMessage): Promise<TokenPair> {
    const body = JSON.parse(await text(req)) as { readonly refresh_token: string };
    return issuer.refresh(body.refresh_token);
  }
  const used = await issuer.issuePair({ subject: "ann" });
  await issuer.refresh(used.refresh_token);
  const browser = `
    const base = ${JSON.stringify(server.url)};
    const items = new Map();
    globalThis.localStorage ??= { getItem: (key) => items.get(key) ?? null, setItem: (key, text) => items.set(key, text) };
    let turn = Promise.resolve();
    const locks = { request: (_name, run) => (turn = turn.then(run, run)) };
    if (navigator.locks === undefined) Object.defineProperty(navigator, "locks", { value: locks });
    setTimeout(async () => {
      const statuses = async (...paths) => (await Promise.all(paths.map((path) => call(path)))).map(({ status }) => status);
      console.log("without", await statuses("/a"));
      write(${JSON.stringify(await issuer.issuePair({ subject: "ann" }))});
      console.log("together", await statuses("/a", "/b", "/c"), await statuses("/last"));
      console.log("again", await statuses("/a", "/b"));
      write(${JSON.stringify(used)});
      console.log("stolen", await statuses("/c"), localStorage.getItem("session"));
    });`;
  return {
    replace: { 'const base = "https://orders.example";': browser },
    asked,
    async [Symbol.asyncDispose]() {
      store.stop();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Creates a login without special privileges, and its table `orders` with a row for each of two tenants. */
export async function ordersTable({ databaseUrl }: Given): Promise<Surroundings> {
  const login = `docs_${randomBytes(4).toString("hex")}`;
  const url = new URL(databaseUrl());
  await execute(url.href, [
    `create role ${login} login password 'docs' nosuperuser nobypassrls`,
    `grant usage, create on schema public to ${login}`,
  ]);
  const own = new URL(url);
  own.username = login;
  own.password = "docs";
  await execute(own.href, [
    "create table orders (tenant_id text not null, id text primary key, total integer not null)",
    "insert into orders values ('acme', 'a-1', 42), ('globex', 'g-1', 7)",
  ]);
  return {
    env: { DATABASE_URL: own.href },
    async [Symbol.asyncDispose]() {
      await execute(url.href, [`drop owned by ${login} cascade`, `drop role ${login}`]);
    },
  };
}

async function execute(url: string, statements: readonly string[]): Promise<void> {
  await using db = createDatabase({ url, max: 1 });
  for (const statement of statements) await db.query(statement);
}
