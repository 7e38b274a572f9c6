import type { Queryable, Row } from "@svc/sql";

/** One sign-in, and what has come of it. */
export interface Session {
  /** `fam` of its tokens. */
  readonly family: string;
  /** What the browser calls itself: a text of whoever signed in. */
  readonly userAgent: string;
  readonly created: Date;
  readonly lastUsed: Date;
}

/** A session that begins. */
export interface NewSession {
  readonly family: string;
  readonly subject: string;
  readonly tenant: string;
  readonly userAgent: string;
  /** `auth_time` of its tokens. */
  readonly signedInAt: number;
}

const longestUserAgent = 200;

/** Writes down a session that begins. */
export async function recordSession(db: Queryable, session: NewSession): Promise<void> {
  const { family, subject, tenant, userAgent, signedInAt } = session;
  await db.query(
    `insert into sessions (family, subject, tenant, user_agent, signed_in_at) values ($1, $2, $3, $4, $5)`,
    [family, subject, tenant, userAgent.slice(0, longestUserAgent), signedInAt],
  );
}

/** Forgets sessions, whoever's, that nobody has used for so long: a few at a time, and more than are added. */
export async function forgetSessions(db: Queryable, keptDays: number): Promise<void> {
  await db.query(
    `
delete from sessions where family in (
  select family from sessions where last_used < now() - make_interval(days => $1)
  order by last_used limit 100 for update skip locked)`,
    [keptDays],
  );
}

/** The last fifty sessions of a person that nobody has ended, the one that was used last first. */
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

/** Whether a session is there and belongs to that person. */
export async function isSessionOf(db: Queryable, family: string, subject: string): Promise<boolean> {
  const { rowCount } = await db.query("select from sessions where family = $1 and subject = $2", [
    family,
    subject,
  ]);
  return rowCount === 1;
}

/** Notes that a session was used just now; answers whether it is one of this service. */
export async function touchSession(db: Queryable, family: string): Promise<boolean> {
  const { rowCount } = await db.query("update sessions set last_used = now() where family = $1", [family]);
  return rowCount === 1;
}

export async function noteEnded(db: Queryable, family: string): Promise<void> {
  await db.query("update sessions set ended = now() where family = $1 and ended is null", [family]);
}

/** Notes that all sessions of a person that began before a moment (seconds since the Unix epoch) have ended. */
export async function noteAllEnded(db: Queryable, subject: string, notBefore: number): Promise<void> {
  await db.query(
    "update sessions set ended = now() where subject = $1 and ended is null and signed_in_at < $2::float8",
    [subject, notBefore],
  );
}
