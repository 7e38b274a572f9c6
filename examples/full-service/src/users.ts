import type { Queryable, Row } from "@svc/sql";

/** A user who may sign in. */
export interface User {
  /** `sub` of the tokens. Never reused for another user. */
  readonly subject: string;
  /** In lower case. */
  readonly email: string;
  /** The stored hash; null for a user who signs in only through a provider. */
  readonly password: string | null;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
}

type UserRow = User & Row;

const columns = "subject, email, password, tenant, scopes, roles";

// ASCII only: `toLowerCase()` turns the Kelvin sign into "k", and so another person's address into this one.
const inLowerCase = (email: string): string => email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Adds a user. */
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

/** Finds a user by an e-mail address in any case. */
export async function findUserByEmail(db: Queryable, email: string): Promise<User | undefined> {
  const { rows } = await db.query<UserRow>(`select ${columns} from users where email = $1`, [
    inLowerCase(email),
  ]);
  return rows[0];
}

/** Finds the user to whom an identity of a provider is linked. */
export async function findUserByIdentity(db: Queryable, federatedId: string): Promise<User | undefined> {
  const { rows } = await db.query<UserRow>(
    `select ${columns} from users join identities using (subject) where federated_id = $1`,
    [federatedId],
  );
  return rows[0];
}

/** Links an identity to a user; an existing link stays. */
export async function linkIdentity(db: Queryable, federatedId: string, subject: string): Promise<void> {
  await db.query(
    `insert into identities (federated_id, subject) values ($1, $2) on conflict (federated_id) do nothing`,
    [federatedId, subject],
  );
}
