import { databaseKind, tableNameKind } from "@svc/sql";
import { expect } from "chai";

describe("option kinds", () => {
  it("accept an object with query() or connect() as a database", () => {
    const method = (): void => undefined;
    for (const db of [{ query: method }, { connect: method }, { query: method, connect: 1 }]) {
      expect(databaseKind.accepts(db)).to.equal(true);
    }
    for (const other of [undefined, null, "postgres://host/db", method, {}, { query: "select 1" }]) {
      expect(databaseKind.accepts(other)).to.equal(false);
    }
  });

  it("accept a table name, with or without a schema, that leaves room for derived names", () => {
    const kind = tableNameKind(8);
    for (const name of ["jobs", "audit.jobs", `${"s".repeat(63)}.jobs1234`, "Größe", 'a"b']) {
      expect(kind.accepts(name), name).to.equal(true);
    }
    for (const name of [
      "",
      ".",
      "a.",
      ".a",
      "a.b.c",
      "jobs12345",
      "a.jobs12345",
      "größeré12",
      "a\0b",
      "\ud800",
      5,
    ]) {
      expect(kind.accepts(name), String(name)).to.equal(false);
    }
    expect(kind.accepts(`${"s".repeat(64)}.jobs`)).to.equal(false);
  });
});
