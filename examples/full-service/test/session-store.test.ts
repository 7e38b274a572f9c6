import type { Logger } from "@svc/context";
import { createDatabase, type Database } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { ensureAccounts } from "../src/account-schema.ts";
import { createSessionStore, type SessionStore } from "../src/session-store.ts";
import { forgetSessions, listSessions, recordSession } from "../src/sessions.ts";

const month = 30 * 86_400;

describe("the session store", () => {
  const database = testDatabase({ name: "session store" });
  const lines: (string | undefined)[] = [];
  const say = (_fields: object, message?: string): void => void lines.push(message);
  const log: Logger = { debug: say, info: say, warn: say, error: say, fatal: say };
  let db: Database;

  before("the tables", async () => {
    db = createDatabase({ url: database.url });
    await ensureAccounts(db, () => Promise.resolve());
    await storeOn(db).ensureSchema();
  });

  after("close the connection", () => db.stop());

  function storeOn(its: Database): SessionStore {
    return createSessionStore({ db: its, prepared: () => Promise.resolve(), log });
  }

  async function begin(subject: string, family: string): Promise<void> {
    await recordSession(db, { family, subject, tenant: "acme", userAgent: "x", signedInAt: 1_000 });
  }

  const families = async (subject: string): Promise<readonly string[]> =>
    (await listSessions(db, subject, 31)).map(({ family }) => family);

  it("REF-6 removes a session from the list when its refresh token is reused", async () => {
    await begin("ann", "ann-1");
    await begin("ann", "ann-2");
    const store = storeOn(db);
    const use = { jti: "token-1", fam: "ann-1", sub: "ann", signedInAt: 1_000, graceSeconds: 0 };
    const kept = { usedTtlSeconds: month, familyTtlSeconds: month };
    expect(await store.rotate({ ...use, ...kept, nonce: "one" })).to.equal("rotated");
    expect(await families("ann")).to.have.members(["ann-1", "ann-2"]);
    expect(await store.rotate({ ...use, ...kept, nonce: "two" })).to.equal("replayed");
    expect(await families("ann")).to.deep.equal(["ann-2"]);
  });

  it("REV-10 removes a person's sessions that began before a given time, and keeps later sessions", async () => {
    await begin("bob", "bob-1");
    const later = { family: "bob-2", subject: "bob", tenant: "acme", userAgent: "x", signedInAt: 2_000 };
    await recordSession(db, later);
    await storeOn(db).revokeSubject("bob", 1_500, month);
    expect(await families("bob")).to.deep.equal(["bob-2"]);
  });

  it("removes all sessions that a person began before revokeSubjectNow() (REV-10)", async () => {
    const store = storeOn(db);
    const signedInAt = await store.signInTime("cem", 0);
    const newest = { family: "cem-1", subject: "cem", tenant: "acme", userAgent: "x", signedInAt };
    await recordSession(db, newest);
    await store.revokeSubjectNow("cem", 0, month);
    await recordSession(db, { ...newest, family: "cem-2", signedInAt: await store.signInTime("cem", 0) });
    expect(await families("cem")).to.deep.equal(["cem-2"]);
  });

  it("deletes sessions that were unused for the lifetime of a refresh token", async () => {
    for (const family of ["dan-1", "dan-2", "dan-3"]) await begin("dan", family);
    const age = "update sessions set last_used = now() - make_interval(days => $2) where family = $1";
    await db.query(age, ["dan-2", 32]);
    await db.query(age, ["dan-3", 60]);
    expect(await families("dan")).to.deep.equal(["dan-1"]);
    const kept = async (): Promise<number> =>
      (await db.query("select from sessions where subject = 'dan'")).rowCount ?? 0;
    // Sessions are kept for 61 days if refresh tokens live for 60 days.
    await forgetSessions(db, 61);
    expect(await kept()).to.equal(3);
    expect((await listSessions(db, "dan", 61)).map(({ family }) => family)).to.deep.equal([
      "dan-1",
      "dan-2",
      "dan-3",
    ]);
    await forgetSessions(db, 31);
    expect(await kept()).to.equal(1);
  });

  it("revokes a session even if the list cannot be written, and logs the failure", async () => {
    await db.query("create schema elsewhere");
    const url = new URL(database.url);
    url.searchParams.set("options", "-c search_path=elsewhere");
    await using other = createDatabase({ url: url.href });
    const store = storeOn(other);
    await store.ensureSchema();
    await store.revokeFamily("cid-1", month);
    expect(await store.isRevoked({ jti: undefined, fam: "cid-1", sub: "cid", signedInAt: 1 })).to.equal(true);
    expect(lines).to.deep.equal(["could not record the end of a session"]);
  });
});
