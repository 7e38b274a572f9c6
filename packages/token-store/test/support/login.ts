import { randomBytes } from "node:crypto";
import { Client } from "pg";

/** A login of one test, which owns nothing. */
export interface Login extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
}

/** Makes a login without any right, and grants it what the statements say, in which `login` stands for its name. */
export async function makeLogin(url: string, ...grants: string[]): Promise<Login> {
  const name = `login_${randomBytes(4).toString("hex")}`;
  await execute(url, `create role ${name} login password 'login' nosuperuser`);
  for (const grant of grants) await execute(url, grant.replaceAll("login", name));
  const own = new URL(url);
  own.username = name;
  own.password = "login";
  return {
    name,
    url: own.href,
    async [Symbol.asyncDispose]() {
      await execute(url, `drop owned by ${name}`);
      await execute(url, `drop role ${name}`);
    },
  };
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
