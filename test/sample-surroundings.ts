import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { createDatabase } from "@svc/database";
import { listen, signToken } from "@svc/test-support";

/** What a sample needs around it. */
export interface Surroundings extends AsyncDisposable {
  readonly env?: Readonly<Record<string, string>>;
  /** Texts of the sample, with what stands in for them. */
  readonly replace?: Readonly<Record<string, string>>;
  /** Files in its working directory. */
  readonly files?: Readonly<Record<string, string>>;
  /** How often the key set was fetched. */
  readonly fetches?: () => number;
}

/** What is known when surroundings are made. */
export interface Given {
  readonly code: string;
  /** Where a database of these tests is; only for samples that say that they need one. */
  readonly databaseUrl: () => string;
}

export const sharedSecret = "a secret of the tests, longer than 32 bytes";

let pair: { readonly privateKey: KeyObject; readonly publicKey: KeyObject } | undefined;

function issuerKeys(): NonNullable<typeof pair> {
  pair ??= generateKeyPairSync("rsa", { modulusLength: 2048 });
  return pair;
}

/** A token as the issuer of the samples signs it. */
export function issuerToken(claims: Readonly<Record<string, unknown>> = {}): string {
  const always = { sub: "ada", iss: "https://issuer.example", aud: "orders" };
  return signToken({ ...always, ...claims }, issuerKeys().privateKey, { kid: "k" });
}

/** An issuer on this machine, whose key set is in the place of the one that the sample names. */
export async function issuer({ code }: Given): Promise<Surroundings> {
  let fetches = 0;
  const keys = [{ ...issuerKeys().publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256", use: "sig" }];
  const server = await listen((_req, res) => {
    fetches += 1;
    res.setHeader("Content-Type", "application/json").end(JSON.stringify({ keys }));
  });
  const [shown = "", option = ""] =
    /\b(jwksUrl|jwksUri|url): "https:\/\/issuer\.example\/jwks\.json"/.exec(code) ?? [];
  // Plain http is refused in prod, which is the default.
  const env = option === "jwksUri" ? "" : ', env: "local"';
  return {
    replace: { [shown]: `${option}: "${server.url}/jwks.json"${env}` },
    fetches: () => fetches,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The public key of the issuer in a file. */
export async function issuerFile(): Promise<Surroundings> {
  const pem = issuerKeys().publicKey.export({ format: "pem", type: "spki" }).toString();
  return { files: { "issuer.pem": pem }, async [Symbol.asyncDispose]() {} };
}

/** A login without special rights, and its table `orders` with a row for each of two tenants. */
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
