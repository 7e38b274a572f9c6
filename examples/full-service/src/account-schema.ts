import type { Database } from "@svc/database";
import { ensureSchema, type Queryable } from "@svc/sql";

// The rows of these tables have no tenant, because a person's tenant is unknown before the sign-in. Row security is
// therefore off, and every statement must select its rows itself.
const people = {
  name: "expenses users",
  tables: {
    users: {
      subject: "text",
      email: "text",
      password: "text",
      tenant: "text",
      scopes: "text[]",
      roles: "text[]",
    },
  },
  statements: [
    `
create table if not exists users (
  subject text primary key,
  -- In lower case.
  email text not null,
  -- As src/passwords.ts writes it; null for a user who signs in with a provider only.
  password text,
  tenant text not null,
  scopes text[] not null,
  roles text[] not null
)`,
    `create unique index if not exists users_by_email on users (email)`,
  ],
};

const signIns = {
  name: "expenses sign-ins",
  tables: {
    identities: { federated_id: "text", subject: "text", linked: "timestamp with time zone" },
    sessions: {
      family: "text",
      subject: "text",
      tenant: "text",
      user_agent: "text",
      signed_in_at: "bigint",
      created: "timestamp with time zone",
      last_used: "timestamp with time zone",
      ended: "timestamp with time zone",
    },
  },
  relations: ["sessions_by_subject", "sessions_by_time"],
  statements: [
    `
create table if not exists identities (
  federated_id text primary key,
  subject text not null references users on delete cascade,
  linked timestamptz not null default now()
)`,
    // A session outlives its user on purpose, so that a refresh can detect a deleted user.
    `
create table if not exists sessions (
  family text primary key,
  subject text not null,
  tenant text not null,
  user_agent text not null,
  signed_in_at bigint not null,
  created timestamptz not null default now(),
  last_used timestamptz not null default now(),
  ended timestamptz
)`,
    `create index if not exists sessions_by_subject on sessions (subject, last_used desc)`,
    `create index if not exists sessions_by_time on sessions (last_used)`,
  ],
};

/**
 * Creates the missing tables of users and sessions, and calls `fill` in the same transaction if the table of users is
 * new. Of several processes that start concurrently, only one does this.
 */
export function ensureAccounts(db: Database, fill: (tx: Queryable) => Promise<void>): Promise<void> {
  const work = async (tx: Queryable): Promise<void> => {
    // Check the table of users separately: it may exist although one of the other tables is missing.
    if ((await ensureSchema(tx, people)) === "created") await fill(tx);
    await ensureSchema(tx, signIns);
  };
  return db.transaction(work, { isolation: "read committed" });
}
