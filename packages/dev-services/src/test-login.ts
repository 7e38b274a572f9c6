import { randomBytes } from "node:crypto";
import { Client } from "pg";

/** What {@link openTestLogin} takes. */
export interface TestLoginOptions {
  /** A superuser's, of the database in which the login is for use. */
  readonly url: string;
  /** Attributes of `create role`. Default: `nosuperuser nobypassrls`, since others pass all row security. */
  readonly attributes?: string | undefined;
  /** What it may do: statements of `grant`, in which the word `login` stands for its name. Default: nothing. */
  readonly grants?: readonly string[] | undefined;
}

/** A login with a password. Disposing of it drops it, and all that it owns and may do in the database. */
export interface OpenTestLogin extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  drop(): Promise<void>;
}

/** Makes a login for tests of what a service may do that is no superuser. */
export async function openTestLogin(options: TestLoginOptions): Promise<OpenTestLogin> {
  const { url, attributes = "nosuperuser nobypassrls", grants = [] } = options;
  const name = `login_${randomBytes(4).toString("hex")}`;
  await execute(url, [
    `create role ${name} login password 'login' ${attributes}`,
    ...grants.map((grant) => grant.replaceAll(/\blogin\b/g, name)),
  ]);
  const own = new URL(url);
  own.username = name;
  own.password = "login";
  const drop = (): Promise<void> => execute(url, [`drop owned by ${name}`, `drop role ${name}`]);
  return { name, url: own.href, drop, [Symbol.asyncDispose]: drop };
}

async function execute(url: string, statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
