import type { Queryable, Row } from "@svc/sql";

/** Somebody who may sign in. */
export interface User {
  /** `sub` of the tokens. Never given to somebody else. */
  readonly subject: string;
  /** In lower case. */
  readonly email: string;
  /** As it is stored; null for somebody who signs in with a provider only. */
  readonly password: string | null;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
}

type UserRow = User & Row;

const columns = "subject, email, password, tenant, scopes, roles";

// Of ASCII alone: `toLowerCase()` makes a "k" of the Kelvin sign, and of the address of somebody else this one.
const inLowerCase = (email: string): string => email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Writes a new one. */
export async function addUser(db: Queryable, user: User): Promise<void> {
  const { subject, email, password, tenant, scopes, roles } = user;
  await db.query(
    `insert into users (subject, email, password, tenant, scopes, roles) values ($1, $2, $3, $4, $5, $6)`,
    [subject, inLowerCase(email), password, tenant, [...scopes], [...roles]],
  );
}

export async function findUser(db: Queryable, subject: string): Promise<User | undefined> {
  const { rows } = await db.query<UserRow>(`select ${columns} from users where subject = $1`, [subject]);
  return rows[0];
}

/** @param email in any case */
export async function findUserByEmail(db: Queryable, email: string): Promise<User | undefined> {
  const { rows } = await db.query<UserRow>(`select ${columns} from users where email = $1`, [
    inLowerCase(email),
  ]);
  return rows[0];
}

/** The one to whom an identity of a provider was linked. */
export async function findUserByIdentity(db: Queryable, federatedId: string): Promise<User | undefined> {
  const { rows } = await db.query<UserRow>(
    `select ${columns} from users join identities using (subject) where federated_id = $1`,
    [federatedId],
  );
  return rows[0];
}

/** Links an identity to a user; one that is linked already stays with whom it is. */
export async function linkIdentity(db: Queryable, federatedId: string, subject: string): Promise<void> {
  await db.query(
    `insert into identities (federated_id, subject) values ($1, $2) on conflict (federated_id) do nothing`,
    [federatedId, subject],
  );
}
