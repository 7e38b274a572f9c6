import { randomBytes } from "node:crypto";
import { Client } from "pg";

/** A login of one test file. */
export interface Login {
  readonly url: string;
  /** Drops it and all that it owns and may do in the database. */
  drop(): Promise<void>;
}

/**
 * Makes a login that may make tables in a database, and is no superuser: a superuser passes all row security.
 *
 * @param attributes of `create role`
 */
export async function makeLogin(url: string, attributes = "nosuperuser nobypassrls"): Promise<Login> {
  const name = `login_${randomBytes(4).toString("hex")}`;
  await execute(url, `create role ${name} login password 'login' ${attributes}`);
  await execute(url, `grant usage, create on schema public to ${name}`);
  const own = new URL(url);
  own.username = name;
  own.password = "login";
  return {
    url: own.href,
    async drop() {
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
