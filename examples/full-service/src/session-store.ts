import type { Logger } from "@svc/context";
import type { Database } from "@svc/database";
import { createPostgresTokenStore, type TokenStore } from "@svc/token-store/postgres";
import { noteAllEnded, noteEnded } from "./sessions.ts";

/** Options of {@link createSessionStore}. */
export interface SessionStoreOptions {
  readonly db: Database;
  /** Resolves when the tables exist. */
  readonly prepared: () => Promise<void>;
  readonly log: Logger;
}

/** The token store, and the function that creates its table. */
export interface SessionStore extends TokenStore {
  signInTime(sub: string, nowSeconds: number): Promise<number>;
  revokeSubjectNow(sub: string, nowSeconds: number, ttlSeconds: number): Promise<number>;
  readonly shared: true;
  ensureSchema(): Promise<unknown>;
}

/**
 * Returns a token store in the service's own PostgreSQL, shared by all replicas. It also marks ended sessions in the
 * table `sessions`, whether a page, `POST /auth/logout` or a reused refresh token ended them.
 */
export function createSessionStore({ db, prepared, log }: SessionStoreOptions): SessionStore {
  const store = createPostgresTokenStore({ db, logger: log });

  /** Logs a failure to mark sessions as ended instead of throwing it, because their revocation is already stored. */
  async function note(written: Promise<void>): Promise<void> {
    await written.catch((error: unknown) =>
      log.warn({ err: error }, "could not record the end of a session"),
    );
  }

  return {
    shared: true,
    ensureSchema: () => store.ensureSchema(),
    async isRevoked(token) {
      await prepared();
      return store.isRevoked(token);
    },
    async revoke(jti, ttlSeconds) {
      await prepared();
      await store.revoke(jti, ttlSeconds);
    },
    async revokeFamily(fam, ttlSeconds) {
      await prepared();
      await store.revokeFamily(fam, ttlSeconds);
      await note(noteEnded(db, fam));
    },
    async revokeSubject(sub, notBefore, ttlSeconds) {
      await prepared();
      await store.revokeSubject(sub, notBefore, ttlSeconds);
      await note(noteAllEnded(db, sub, notBefore));
    },
    async signInTime(sub, nowSeconds) {
      await prepared();
      return store.signInTime(sub, nowSeconds);
    },
    async revokeSubjectNow(sub, nowSeconds, ttlSeconds) {
      await prepared();
      const notBefore = await store.revokeSubjectNow(sub, nowSeconds, ttlSeconds);
      await note(noteAllEnded(db, sub, notBefore));
      return notBefore;
    },
    async rotate(rotation) {
      await prepared();
      const result = await store.rotate(rotation);
      if (result === "replayed") await note(noteEnded(db, rotation.fam));
      return result;
    },
    readiness: () => store.readiness(),
    stop: () => store.stop(),
  };
}

/** Returns a store for `createService()`, which needs one before it has created the store's database. */
export function lateStore(store: () => SessionStore): TokenStore {
  return {
    shared: true,
    isRevoked: (token) => store().isRevoked(token),
    revoke: (jti, ttlSeconds) => store().revoke(jti, ttlSeconds),
    revokeFamily: (fam, ttlSeconds) => store().revokeFamily(fam, ttlSeconds),
    revokeSubject: (sub, notBefore, ttlSeconds) => store().revokeSubject(sub, notBefore, ttlSeconds),
    signInTime: (sub, nowSeconds) => store().signInTime(sub, nowSeconds),
    revokeSubjectNow: (sub, nowSeconds, ttlSeconds) => store().revokeSubjectNow(sub, nowSeconds, ttlSeconds),
    rotate: (rotation) => store().rotate(rotation),
  };
}
