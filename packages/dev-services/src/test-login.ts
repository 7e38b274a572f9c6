import { randomBytes } from "node:crypto";
import { withClient } from "./environment.ts";

/** The options of {@link openTestLogin}. */
export interface TestLoginOptions {
  /** URL of the database in which the login is used, with a superuser's credentials. */
  readonly url: string;
  /** Attributes for `create role`. Default: `nosuperuser nobypassrls`, because their opposites bypass row security. */
  readonly attributes?: string | undefined;
  /** `grant` statements in which the word `login` stands for the login's name. Default: the login has no privileges. */
  readonly grants?: readonly string[] | undefined;
}

/** A login with a password. Disposing drops it, with its objects and privileges in the database. */
export interface OpenTestLogin extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  drop(): Promise<void>;
}

/** Creates a login for tests of a service that does not connect as a superuser. */
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

function execute(url: string, statements: readonly string[]): Promise<void> {
  return withClient({ connectionString: url }, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
}
