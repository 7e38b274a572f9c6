import type { Queryable, Row } from "@svc/sql";

/** A session as the account page lists it. */
export interface Session {
  /** The claim `fam` of its tokens. */
  readonly family: string;
  /** The `User-Agent` of the sign-in: untrusted text. */
  readonly userAgent: string;
  readonly created: Date;
  readonly lastUsed: Date;
}

/** A new session. */
export interface NewSession {
  readonly family: string;
  readonly subject: string;
  readonly tenant: string;
  readonly userAgent: string;
  /** The claim `auth_time` of its tokens. */
  readonly signedInAt: number;
}

const longestUserAgent = 200;

/** Records a new session. */
export async function recordSession(db: Queryable, session: NewSession): Promise<void> {
  const { family, subject, tenant, userAgent, signedInAt } = session;
  await db.query(
    `insert into sessions (family, subject, tenant, user_agent, signed_in_at) values ($1, $2, $3, $4, $5)`,
    [family, subject, tenant, userAgent.slice(0, longestUserAgent), signedInAt],
  );
}

/**
 * Deletes up to a hundred sessions, of all users, that were not used for `keptDays`. Every sign-in calls this, so more
 * sessions are deleted than added.
 */
export async function forgetSessions(db: Queryable, keptDays: number): Promise<void> {
  await db.query(
    `
delete from sessions where family in (
  select family from sessions where last_used < now() - make_interval(days => $1)
  order by last_used limit 100 for update skip locked)`,
    [keptDays],
  );
}

/** Returns the last fifty sessions of a user that have not ended, the most recently used first. */
export async function listSessions(
  db: Queryable,
  subject: string,
  keptDays: number,
): Promise<readonly Session[]> {
  const { rows } = await db.query<Session & Row>(
    `
select family, user_agent as "userAgent", created, last_used as "lastUsed"
from sessions
where subject = $1 and ended is null and last_used > now() - make_interval(days => $2)
order by last_used desc, family limit 50`,
    [subject, keptDays],
  );
  return rows;
}

/** Returns whether a session exists and belongs to that user. */
export async function isSessionOf(db: Queryable, family: string, subject: string): Promise<boolean> {
  const { rowCount } = await db.query("select from sessions where family = $1 and subject = $2", [
    family,
    subject,
  ]);
  return rowCount === 1;
}

/** Records the use of a session; returns whether the session belongs to this service. */
export async function touchSession(db: Queryable, family: string): Promise<boolean> {
  const { rowCount } = await db.query("update sessions set last_used = now() where family = $1", [family]);
  return rowCount === 1;
}

export async function noteEnded(db: Queryable, family: string): Promise<void> {
  await db.query("update sessions set ended = now() where family = $1 and ended is null", [family]);
}

/** Marks all sessions of a user as ended that began before `notBefore` (seconds since the Unix epoch). */
export async function noteAllEnded(db: Queryable, subject: string, notBefore: number): Promise<void> {
  await db.query(
    "update sessions set ended = now() where subject = $1 and ended is null and signed_in_at < $2::float8",
    [subject, notBefore],
  );
}
