import { createDatabase } from "@svc/database";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";

type Options = Parameters<typeof createDatabase>[0];

function faultsOf(options: object): readonly string[] {
  try {
    createDatabase(options as Options);
  } catch (error) {
    if (error instanceof ConfigurationError)
      return error.faults.map(({ key, message }) => `${key} ${message}`);
    throw error;
  }
  return [];
}

describe("createDatabase(options)", () => {
  const url = "postgres://app:s3cret@127.0.0.1:1/x";

  it("CFG-12 throws one error that lists all faults", () => {
    const faults = faultsOf({ url, max: 0, connectTimeoutMs: -1, statementTimeout: 5, name: "a b" });
    expect(faults).to.have.lengthOf(4);
    expect(faults.join("\n"))
      .to.contain("statementTimeout is unknown; did you mean statementTimeoutMs?")
      .and.to.contain("max must be a whole number from 1 to 10000; it is 0")
      .and.to.contain("connectTimeoutMs must be a number")
      .and.to.contain("name must be 1 to 64 letters");
  });

  it("does not show a URL or a password in a fault", () => {
    const faults = [
      ...faultsOf({ url: "mysql://app:s3cret@h/x" }),
      ...faultsOf({ url: "postgres://app:s3cret@h:port/x" }),
      ...faultsOf({ url: "postgres://app:s3cret@h/x?sslrootcert=/no/such/file" }),
      ...faultsOf({ url, password: "s3cret" }),
      ...faultsOf({ host: "h", user: "u", database: "d", password: 53_000 }),
    ];
    expect(faults).to.have.lengthOf(5);
    expect(faults.join("\n")).to.not.contain("s3cret").and.not.to.contain("53000");
  });

  it("requires either a URL, or host, user and database", () => {
    expect(faultsOf({})).to.deep.equal(["url is required unless host, user and database are set"]);
    expect(faultsOf({ host: "h" })).to.deep.equal([
      "user is required without url",
      "database is required without url",
    ]);
    expect(faultsOf({ url, host: "h", port: 1 })).to.deep.equal([
      "host cannot be combined with url; set one of them",
      "port cannot be combined with url; set one of them",
    ]);
  });

  it("does not connect, and so does not throw while the database is unreachable", async () => {
    const database = createDatabase({ host: "127.0.0.1", port: 1, user: "u", database: "d", password: "" });
    expect(database.pool.totalCount).to.equal(0);
    await database.stop();
  });
});
