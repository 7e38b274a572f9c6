import { migrationName } from "@svc/sql";
import { expect } from "chai";

describe("migrationName()", () => {
  it("joins the step and the table", () => {
    expect(migrationName("0001", "svc_jobs")).to.equal("0001_svc_jobs");
    expect(migrationName("0002_rollup", "Hours")).to.equal("0002_rollup_Hours");
  });

  it("returns only word characters, and a different name for each table", () => {
    const tables = ["a_b", "a.b", "a-b", "jobs-1", "jobs_1", "задачи", "письма", 'a"b'];
    const names = tables.map((table) => migrationName("0001", table));
    for (const name of names) expect(name).to.match(/^0001_\w+$/);
    expect(new Set(names)).to.have.lengthOf(tables.length);
    expect(migrationName("0001", "a.b")).to.equal("0001_a_b_2e7336dc");
  });
});
