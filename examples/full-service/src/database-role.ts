import { randomBytes } from "node:crypto";
import { createDatabase } from "@svc/database";
import { identifier, type Queryable, withTransaction } from "@svc/sql";

/** Returns the name of the service's role in a database. The role owns the tables and has no other rights. */
export function roleOf(url: string): string {
  return `${decodeURIComponent(new URL(url).pathname.slice(1)).slice(0, 50)}_service`;
}

/**
 * Creates the role of the service, over a connection as superuser. A superuser sees the rows of every tenant despite row
 * security, so a service must not connect as one.
 *
 * @param adminUrl URL of a superuser
 * @returns the same URL for the role, with a new password
 */
export async function serviceUrl(adminUrl: string): Promise<string> {
  await using admin = createDatabase({ url: adminUrl, applicationName: "expenses-setup", max: 1 });
  const password = randomBytes(24).toString("hex");
  const name = roleOf(adminUrl);
  await withTransaction(admin, (tx) => makeRole(tx, name, password));
  const url = new URL(adminUrl);
  url.username = name;
  url.password = password;
  return url.href;
}

async function makeRole(tx: Queryable, name: string, password: string): Promise<void> {
  const role = identifier(name);
  // Two starting services may run this at the same time.
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`role ${name}`]);
  const { rows } = await tx.query("select from pg_roles where rolname = $1", [name]);
  if (rows.length === 0) await tx.query(`create role ${role}`);
  // The password is hexadecimal, so it needs no quoting.
  await tx.query(`alter role ${role} login nosuperuser nobypassrls password '${password}'`);
  await tx.query(`grant usage, create on schema public to ${role}`);
  // The search needs this extension, and only a superuser may create it.
  const { rows: vector } = await tx.query("select from pg_available_extensions where name = 'vector'");
  if (vector.length > 0) await tx.query("create extension if not exists vector");
  // The superuser may own this table if an earlier start created it.
  await tx.query(`alter table if exists expenses owner to ${role}`);
}
